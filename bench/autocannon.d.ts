/** The part of autocannon that the benchmark uses; the package brings no types. @module */

declare module 'autocannon' {
  interface Options {
    url: string;
    connections: number;
    /** Seconds, or how many requests. */
    duration?: number;
    amount?: number;
    method: 'GET' | 'POST';
    headers?: Readonly<Record<string, string>>;
    body?: string;
  }
  interface Result {
    duration: number;
    errors: number;
    statusCodeStats: Readonly<Record<string, { count: number }>>;
    requests: { total: number };
    latency: { p50: number; p99: number };
  }
  // biome-ignore lint/style/noDefaultExport: the package has one.
  export default function autocannon(options: Options): Promise<Result>;
}
