"""The smallest run that there is: ten numbers, one curve."""

import trackio_like as trackio

trackio.init(project="quickstart", config={"lr": 0.1})
for step in range(10):
    trackio.log({"train/loss": 1 / (step + 1)})
trackio.finish()

print("See it with: trackio-like show")
