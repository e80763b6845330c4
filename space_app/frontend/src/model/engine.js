// Speaks to elkjs, which lays out in a worker: its file is loaded as it is, when the first graph is shown.

import workerFile from "elkjs/lib/elk-worker.min.js";

export class Engine {
  constructor() {
    this.waiting = new Map();
    this.num = 0;
    this.worker = new Worker(new URL(workerFile, import.meta.url));
    this.worker.onmessage = ({ data }) => this.answered(data);
    this.worker.onerror = (event) => this.failed(new Error(event.message || "the worker cannot be loaded"));
    this.worker.postMessage({ id: "register", cmd: "register", algorithms: ["layered"] });
  }

  answered({ id, data, error }) {
    const promise = this.waiting.get(id);
    this.waiting.delete(id);
    if (error) promise?.reject(new Error(error.message ?? String(error)));
    else promise?.resolve(data);
  }

  failed(error) {
    for (const { reject } of this.waiting.values()) reject(error);
    this.waiting.clear();
    this.error = error;
  }

  /** @returns {Promise<object>} the graph with places in it. */
  layout(graph) {
    if (this.error) return Promise.reject(this.error);
    const id = ++this.num;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.worker.postMessage({ id, cmd: "layout", graph, layoutOptions: {}, options: {} });
    });
  }
}
