// Workers that draw maps, strip by strip. They run the same engine as the page, from its own text: no request is made.

const MOST = 4;

export class Pool {
  constructor(content, engine) {
    this.engine = engine;
    this.job = 0;
    this.waiting = [];
    this.workers = this.#start(content);
  }

  #start(content) {
    try {
      const text = document.getElementById("engine").textContent;
      const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
      const size = Math.max(1, Math.min(MOST, navigator.hardwareConcurrency || 2));
      return Array.from({ length: size }, () => {
        const worker = new Worker(url);
        worker.postMessage(content);
        worker.onmessage = ({ data }) => this.#done(worker, data);
        worker.onerror = () => this.#lost(worker);
        worker.idle = true;
        return worker;
      });
    } catch {
      return []; // the page then computes on its own thread
    }
  }

  // Ask for a map; `tell` gets each strip as it comes. A new question makes the old ones void.
  ask(question, lines, tell) {
    this.job++;
    this.tell = tell;
    const { y } = question;
    const strips = Math.max(1, Math.min(y.values.length, 4 * Math.max(1, this.workers.length)));
    this.waiting = Array.from({ length: strips }, (_, k) => {
      const from = Math.floor((k * y.values.length) / strips);
      const to = Math.floor(((k + 1) * y.values.length) / strips);
      return { ...question, y: { ...y, values: y.values.slice(from, to) }, job: this.job, strip: from };
    });
    if (this.workers.length) this.#feed();
    else this.#alone(this.job);
  }

  stop() {
    this.job++;
    this.waiting = [];
  }

  #feed() {
    for (const worker of this.workers) {
      if (!worker.idle || !this.waiting.length) continue;
      worker.idle = false;
      worker.doing = this.waiting.shift();
      worker.postMessage(worker.doing);
    }
  }

  #done(worker, data) {
    worker.idle = true;
    this.#feed();
    if (data.job === this.job) this.tell(data);
  }

  #lost(worker) {
    this.workers = this.workers.filter((one) => one !== worker);
    if (worker.doing && worker.doing.job === this.job && !worker.idle) this.waiting.unshift(worker.doing);
    if (this.workers.length) this.#feed();
    else this.#alone(this.job);
  }

  #alone(job) {
    if (job !== this.job || !this.waiting.length) return;
    const data = this.waiting.shift();
    this.tell({ ...ScumbleEngine.answer(this.engine, data), job, strip: data.strip });
    setTimeout(() => this.#alone(job), 0);
  }
}
