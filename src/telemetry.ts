/**
 * Telemetry: OpenTelemetry spans, sent in batches to a collector.
 *
 * Keeps no global state: two services in one process do not see each other's spans. When the collector is
 * unreachable, spans beyond a bound are dropped.
 *
 * @module
 */

import { AsyncLocalStorage } from 'node:async_hooks';
import { type Context, ROOT_CONTEXT, SpanKind, TraceFlags, trace } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { lineTrace } from './log.ts';
import { system } from './platform.ts';
import { NO_SPAN, type Span, type TraceParent, type Tracer } from './service/operations/tracing.ts';

/** In milliseconds: a slower collector counts as unreachable. */
const EXPORT_TIMEOUT_MS = 5_000;

/** In milliseconds: how long a stop waits for the collector. A dead one must not delay a rolling restart. */
const LAST_EXPORT_MS = 1_000;

export interface Telemetry {
  readonly tracer: Tracer;
  /** Sends the buffered spans. */
  flush(): Promise<void>;
  /** The same, for the last time. Never rejects: lost spans do not fail a stop. */
  close(): Promise<void>;
}

/** `OTEL_TRACES_SAMPLER` and its argument: the packages read neither. */
export interface Sampling {
  readonly sampler?: string | undefined;
  readonly arg?: string | undefined;
  readonly onWarning?: ((message: string) => void) | undefined;
}

/** Sends spans to `endpoint` (OTLP over HTTP); the usual `OTEL_EXPORTER_OTLP_*` variables apply too. */
export function exportTo(endpoint: string, serviceId: string, sampling?: Sampling): Telemetry {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  const exporter = new OTLPTraceExporter({ url, timeoutMillis: EXPORT_TIMEOUT_MS });
  return createTelemetry(exporter, serviceId, sampling);
}

/** `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES` apply; the packages read them. */
export function createTelemetry(
  exporter: SpanExporter,
  serviceId: string,
  sampling: Sampling = {},
): Telemetry {
  const named = resourceFromAttributes({ 'service.name': serviceId });
  const provider = new TracerProvider({
    resource: named.merge(detectResources({ detectors: [envDetector] })),
    sampler: samplerOf(sampling),
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: EXPORT_TIMEOUT_MS })],
  });
  const tracer = provider.getTracer('writ');
  const current = new AsyncLocalStorage<Context>();

  function begin(name: string, kind: SpanKind, context: Context): Span {
    const span = tracer.startSpan(name, { kind }, context);
    const within = trace.setSpan(context, span);
    const { traceId, spanId } = span.spanContext();
    const ids = { trace_id: traceId, span_id: spanId };
    return {
      within: (run) => current.run(within, () => lineTrace.run(ids, run)),
      note: (facts) => void span.setAttributes({ ...facts }),
      end: () => span.end(),
    };
  }

  return {
    tracer: {
      call: (name, parent) => begin(name, SpanKind.SERVER, parent ? below(parent) : ROOT_CONTEXT),
      step(name) {
        const context = current.getStore();
        return context ? begin(name, SpanKind.INTERNAL, context) : NO_SPAN;
      },
    },
    flush: () => provider.forceFlush(),
    close: () => withinLast(provider.shutdown()),
  };
}

/** Never rejects. A collector that does not answer loses the last spans. */
async function withinLast(closing: Promise<void>): Promise<void> {
  await new Promise<void>((resolve) => {
    const timer = system.after(LAST_EXPORT_MS, resolve);
    closing
      .catch(() => undefined)
      .finally(() => {
        system.cancel(timer);
        resolve();
      });
  });
}

/** What a call that no caller's trace decides about gets, by the names of the specification of OpenTelemetry. */
const SAMPLERS = new Map<string, (ratio: number) => Sampler>([
  ['always_on', () => new AlwaysOnSampler()],
  ['always_off', () => new AlwaysOffSampler()],
  ['traceidratio', (ratio) => new TraceIdRatioBasedSampler(ratio)],
]);
const PARENT_BASED = 'parentbased_';

/** By default the decision of the caller counts, and calls without one are traced. */
function samplerOf({ sampler, arg, onWarning }: Sampling): Sampler {
  const chosen = sampler || `${PARENT_BASED}always_on`;
  const isParentBased = chosen.startsWith(PARENT_BASED);
  const make = SAMPLERS.get(isParentBased ? chosen.slice(PARENT_BASED.length) : chosen);
  const ratio = arg ? Number(arg) : 1;
  // OpenTelemetry wants a service to start with a sampler that it does not know, because many services share the variables.
  if (!make || !(ratio >= 0 && ratio <= 1)) {
    const all = [...SAMPLERS.keys()].flatMap((each) => [each, PARENT_BASED + each]);
    onWarning?.(
      `Cannot use OTEL_TRACES_SAMPLER and OTEL_TRACES_SAMPLER_ARG: expected one of ${all.join(', ')}, and a ratio from 0 to 1; every call is traced unless its caller decides`,
    );
    return new ParentBasedSampler({ root: new AlwaysOnSampler() });
  }
  return isParentBased ? new ParentBasedSampler({ root: make(ratio) }) : make(ratio);
}

function below({ traceId, spanId, sampled }: TraceParent): Context {
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
