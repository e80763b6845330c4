"""What a Space starts: the dashboard of the bucket or dataset that its variables name."""

from __future__ import annotations

from space_app.hosted import main

if __name__ == "__main__":
    main()
