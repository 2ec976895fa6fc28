// Search in a site that was opened from a folder. Browsers start no worker there, so one is made of a frame: the worker's
// script runs in it, and messages are events between the two windows.

if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #waiting = [];

    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.documentElement.append(frame);
      const inner = frame.contentWindow;
      inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
      const script = inner.document.createElement("script");
      script.onload = () => {
        this.postMessage = (data) => inner.dispatchEvent(new inner.MessageEvent("message", { data }));
        this.#waiting.forEach((data) => this.postMessage(data));
      };
      script.src = url;
      inner.document.head.append(script);
    }

    postMessage(data) {
      this.#waiting.push(data);
    }

    terminate() {}
  };
}
