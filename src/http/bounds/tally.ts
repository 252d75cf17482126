/**
 * Counters, histograms and gauges, and their text in the format of Prometheus (0.0.4).
 *
 * Every request is counted, so counting is one addition in a map. The text is written only when a scraper
 * reads it. Label values come from the service, never from a caller, so their number is bounded.
 *
 * @module
 */

export const METRICS_TYPE = 'text/plain; version=0.0.4; charset=utf-8';

export interface Metric {
  text(): string;
}

export interface Counter extends Metric {
  inc(...labels: string[]): void;
}

export interface Histogram extends Metric {
  observe(label: string, value: number): void;
}

export function createCounter(
  name: string,
  help: string,
  labelNames: readonly string[] = [],
): Counter {
  const counted = new Map<string, { labels: readonly string[]; count: number }>();
  if (labelNames.length === 0) counted.set('', { labels: [], count: 0 });
  return {
    inc(...labels) {
      const key = labels.join(' ');
      const known = counted.get(key);
      if (known) known.count += 1;
      else counted.set(key, { labels, count: 1 });
    },
    text() {
      const lines = [...counted.values()].map(({ labels, count }) => {
        return `${name}${braces(labelNames, labels)} ${count}`;
      });
      return metricText(name, help, 'counter', lines);
    },
  };
}

/** `bounds` are upper bounds, from the least to the greatest. */
export function createHistogram(
  name: string,
  help: string,
  labelName: string,
  bounds: readonly number[],
): Histogram {
  const observed = new Map<string, { sum: number; count: number; within: number[] }>();
  return {
    observe(label, value) {
      let known = observed.get(label);
      if (!known) {
        known = { sum: 0, count: 0, within: bounds.map(() => 0) };
        observed.set(label, known);
      }
      known.sum += value;
      known.count += 1;
      const index = bounds.findIndex((bound) => value <= bound);
      if (index >= 0) known.within[index] = (known.within[index] ?? 0) + 1;
    },
    text() {
      const lines = [...observed].flatMap(([label, { sum, count, within }]) => {
        let below = 0;
        const buckets = within.map((many, index) => {
          below += many;
          return `${name}_bucket${braces(['le', labelName], [String(bounds[index]), label])} ${below}`;
        });
        const own = braces([labelName], [label]);
        return [
          ...buckets,
          `${name}_bucket${braces(['le', labelName], ['+Inf', label])} ${count}`,
          `${name}_sum${own} ${sum}`,
          `${name}_count${own} ${count}`,
        ];
      });
      return metricText(name, help, 'histogram', lines);
    },
  };
}

/** Without a value there is no line of it. */
export function createGauge(name: string, help: string, value: () => number | undefined): Metric {
  return {
    text() {
      const now = value();
      return metricText(name, help, 'gauge', now === undefined ? [] : [`${name} ${now}`]);
    },
  };
}

export function metricsText(metrics: readonly Metric[]): string {
  return `${metrics.map((metric) => metric.text()).join('\n\n')}\n`;
}

function metricText(name: string, help: string, type: string, lines: readonly string[]): string {
  return [`# HELP ${name} ${help}`, `# TYPE ${name} ${type}`, ...lines].join('\n');
}

function braces(names: readonly string[], values: readonly string[]): string {
  if (names.length === 0) return '';
  return `{${names.map((name, index) => `${name}="${escaped(values[index] ?? '')}"`).join(',')}}`;
}

function escaped(value: string): string {
  return value.replaceAll('\\', '\\\\').replaceAll('\n', '\\n').replaceAll('"', '\\"');
}
