// Which modules are open, and so which are to be seen: never more than 300, whatever opens them. Pure.

import { TOP } from "./document.js";

/** Modules that are drawn at once, at most. */
export const MOST_VISIBLE = 300;
/** Children of one module that are drawn at once; the others wait behind a box that says how many they are. */
export const MOST_CHILDREN = 120;
const FEW_CHILDREN = 8;
const AT_FIRST = 18;
const DEPTH_AT_FIRST = 3;
const MOST_IN_LINK = 40;

/**
 * @typedef {object} Change what opening or closing did.
 * @property {number[]} opened
 * @property {number[]} closed closed again, because too many were to be seen.
 * @property {number} left how many stay closed, because too many would be to be seen.
 */

export class Opening {
  /** @param {import("./document.js").Graph} graph */
  constructor(graph, most = MOST_VISIBLE) {
    Object.assign(this, { graph, most, tick: 0 });
    /** When each open module was opened. */
    this.open = new Map();
    /** Of modules with too many children: the child around which they are shown. */
    this.anchors = new Map();
    this.narrow = new Set();
  }

  isContainer(index) {
    return this.graph.modules[index].children.length > 0;
  }

  /** Whether a module shows what is in it; what is around it may still be closed. */
  isOpen(index) {
    return index === TOP || this.open.has(index) || this.graph.spread.has(index);
  }

  /** Whether a module is to be seen itself: everything around it is open, and it is among the children shown. */
  isVisible(index) {
    const parent = this.graph.around(index);
    if (parent === TOP) return true;
    return this.isOpen(parent) && this.isVisible(parent) && this.shown(parent).list.includes(index);
  }

  /**
   * The children of an open module that are drawn.
   * @returns {{list: number[], before: number, after: number}} and how many are not.
   */
  shown(index) {
    if (index === TOP) return { list: [0], before: 0, after: 0 };
    const children = this.graph.drawn(index);
    const most = this.narrow.has(index) ? FEW_CHILDREN : MOST_CHILDREN;
    if (children.length <= most) return { list: children, before: 0, after: 0 };
    const at = Math.max(0, children.indexOf(this.anchors.get(index) ?? children[0]));
    const from = Math.min(Math.max(0, at - Math.floor(most / 2)), children.length - most);
    return { list: children.slice(from, from + most), before: from, after: children.length - from - most };
  }

  /** Every module that is to be seen, each before what is in it. */
  visible() {
    const found = [];
    const visit = (index) => {
      found.push(index);
      if (this.isOpen(index)) for (const child of this.shown(index).list) visit(child);
    };
    visit(0);
    return found;
  }

  get numVisible() {
    return this.visible().length;
  }

  mark(index) {
    this.open.delete(index);
    this.open.set(index, ++this.tick);
  }

  // -- opening -----------------------------------------------------------------------------------------------------

  /**
   * Opens a module and everything around it; what was opened longest ago closes where too many would be to be seen.
   * @returns {Change}
   */
  reveal(index, isItself = true) {
    const chain = this.graph.chain(index).filter((i) => !this.graph.spread.has(i));
    const wanted = (isItself ? chain : chain.slice(0, -1)).filter((i) => this.isContainer(i));
    const opened = wanted.filter((i) => !this.open.has(i));
    for (const i of wanted) this.mark(i);
    for (let i = 1; i < chain.length; i++) {
      const children = this.graph.drawn(chain[i - 1]);
      if (children.length > FEW_CHILDREN && !this.shown(chain[i - 1]).list.includes(chain[i])) this.anchors.set(chain[i - 1], chain[i]);
    }
    return { opened, closed: this.fit(new Set(chain), chain), left: 0 };
  }

  /** Shows the children before or after those that are shown. */
  turn(index, isForward) {
    const { list } = this.shown(index);
    const children = this.graph.drawn(index);
    const at = children.indexOf(isForward ? list.at(-1) : list[0]) + (isForward ? 1 : -1) * Math.ceil(list.length / 2);
    this.anchors.set(index, children[Math.min(children.length - 1, Math.max(0, at))]);
    return { opened: [], closed: this.fit(new Set(this.graph.chain(index)), this.graph.chain(index)), left: 0 };
  }

  fit(kept, chain) {
    const closed = [];
    while (this.numVisible > this.most) {
      const next = [...this.open.keys()].find((i) => !kept.has(i));
      if (next === undefined) break;
      this.open.delete(next);
      closed.push(next);
    }
    // Only what is around the wanted one is open now; its many siblings step back.
    for (const i of chain) {
      if (this.numVisible <= this.most) break;
      this.anchors.set(i, chain[chain.indexOf(i) + 1] ?? this.graph.drawn(i)[0]);
      this.narrow.add(i);
    }
    return closed;
  }

  /**
   * Opens all that is closed in a module, the outermost first, as far as there is room.
   * @returns {Change}
   */
  openBelow(index) {
    const { closed } = this.reveal(index);
    const opened = [];
    let left = 0;
    for (let front = [index]; front.length;) {
      const inner = front.flatMap((i) => (this.isOpen(i) ? this.shown(i).list : [])).filter((i) => this.isContainer(i));
      const change = this.openAll(inner.filter((i) => !this.isOpen(i)));
      opened.push(...change.opened);
      left += change.left;
      front = inner;
    }
    return { opened, closed, left };
  }

  /** One level more: whatever is closed and to be seen in a module opens, as far as there is room. */
  openLevel(index) {
    return this.openAll(this.visible().filter((i) => this.isContainer(i) && !this.isOpen(i) && this.graph.isInside(i, index)));
  }

  openAll(wanted) {
    const opened = [];
    let num = this.numVisible;
    for (const i of wanted) {
      const more = this.shown(i).list.length;
      if (num + more > this.most) continue;
      num += more;
      this.mark(i);
      opened.push(i);
    }
    return { opened, closed: [], left: wanted.length - opened.length };
  }

  close(index) {
    return this.open.delete(index);
  }

  /** Closes all below a module; itself stays. */
  closeBelow(index) {
    for (const i of [...this.open.keys()]) if (i !== index && this.graph.isInside(i, index)) this.open.delete(i);
  }

  // -- at first, and in links ------------------------------------------------------------------------------------------

  /** What is open before the reader opens anything: the model, and what lies around everything else. */
  begin() {
    this.open.clear();
    this.anchors.clear();
    this.narrow.clear();
    this.mark(0);
    let num = this.numVisible;
    for (let isNews = true; isNews;) {
      isNews = false;
      const closed = this.visible().filter((i) => this.isContainer(i) && !this.isOpen(i));
      // The outermost first; of them those that only hold modules, then the smallest.
      const isCalled = (i) => Number(this.graph.modules[i].calls > 0);
      closed.sort((a, b) => this.graph.modules[a].depth - this.graph.modules[b].depth || isCalled(a) - isCalled(b) || this.graph.drawn(a).length - this.graph.drawn(b).length);
      for (const i of closed) {
        const { depth, count } = this.graph.modules[i];
        const children = this.graph.drawn(i);
        const isShell = children.length === 1 && count === 1;
        if (num + children.length > AT_FIRST || (depth >= DEPTH_AT_FIRST && !isShell) || (depth > 1 && count > 1)) continue;
        this.mark(i);
        num = this.numVisible;
        isNews = true;
        break;
      }
    }
    return this;
  }

  /** The innermost open modules as a link holds them, the most recently opened last. */
  paths() {
    const around = new Set([...this.open.keys()].flatMap((i) => this.graph.chain(i).slice(0, -1)));
    const inner = [...this.open.keys()].filter((i) => !around.has(i) && this.graph.chain(i).every((each) => this.isOpen(each)));
    return inner.slice(-MOST_IN_LINK).map((i) => this.graph.modules[i].path);
  }

  /** Opens what a link names; what is not there, or too much, is passed over. */
  restore(paths) {
    this.open.clear();
    for (const path of paths.slice(-MOST_IN_LINK)) {
      const index = this.graph.resolve(path);
      if (index >= 0) this.reveal(index);
    }
    return this;
  }
}
