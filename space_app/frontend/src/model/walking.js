// Where the arrow keys lead: along edges up and down, to what stands beside left and right. Pure.

const middle = ({ x, y, width, height }) => [x + width / 2, y + height / 2];

/**
 * @param {object} scene of `sceneOf`.
 * @param {import("./lift.js").Link[]} links
 * @param {string} id where one is.
 * @param {"ArrowUp" | "ArrowDown" | "ArrowLeft" | "ArrowRight"} key
 * @returns {string | null}
 */
export function following(scene, links, id, key) {
  const here = scene.byId.get(id);
  if (!here) return scene.items[0]?.id ?? null;
  const isDown = key === "ArrowDown";
  if (isDown || key === "ArrowUp") return along(scene, links, here, isDown) ?? nextInOrder(scene, here, isDown);
  return beside(scene, here, key === "ArrowRight");
}

/** The other end of an edge: of several, the nearest. An open module is where its insides are. */
function along(scene, links, here, isDown) {
  const ends = links.filter((link) => (isDown ? link.from : link.to) === here.id).map((link) => scene.byId.get(isDown ? link.to : link.from)).filter(Boolean);
  return nearest(here, ends);
}

function nearest(here, items) {
  const [x, y] = middle(here);
  let best = null;
  for (const item of items) {
    const [ix, iy] = middle(item);
    const far = Math.hypot(ix - x, iy - y);
    if (!best || far < best.far) best = { far, id: item.id };
  }
  return best?.id ?? null;
}

/** Without an edge: the first thing in an open module, or the next one as they are listed. */
function nextInOrder(scene, here, isDown) {
  const at = scene.items.indexOf(here) + (isDown ? 1 : -1);
  return scene.items[at]?.id ?? null;
}

/** What stands beside, in the same module: the nearest in that direction; where there is none, the next in the order of reading. */
function beside(scene, here, isRight) {
  const [x, y] = middle(here);
  const items = scene.items.filter((item) => item.container === here.container && item !== here);
  const there = items.filter((item) => {
    const [ix, iy] = middle(item);
    return (isRight ? ix > x + 1 : ix < x - 1) && Math.abs(iy - y) < (item.height + here.height) / 2 + 20;
  });
  if (there.length) return nearest(here, there);
  const order = [...items, here].sort((a, b) => a.y - b.y || a.x - b.x);
  return order[order.indexOf(here) + (isRight ? 1 : -1)]?.id ?? null;
}
