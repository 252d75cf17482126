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
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOnSampler,
  BatchSpanProcessor,
  type SpanExporter,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import { NO_SPAN, type Span, type TraceParent, type Tracer } from './service/core/tracing.ts';

/** In milliseconds: a slower collector counts as unreachable, and stopping must not wait for it. */
const EXPORT_TIMEOUT_MS = 5_000;

export interface Telemetry {
  readonly tracer: Tracer;
  /** Sends the buffered spans. */
  flush(): Promise<void>;
  /** The same, for the last time. Never rejects: lost spans do not fail a stop. */
  close(): Promise<void>;
}

/** Sends spans to `endpoint` (OTLP over HTTP); the usual `OTEL_EXPORTER_OTLP_*` variables apply too. */
export function exportTo(endpoint: string, serviceId: string): Telemetry {
  const url = `${endpoint.replace(/\/+$/, '')}/v1/traces`;
  return createTelemetry(
    new OTLPTraceExporter({ url, timeoutMillis: EXPORT_TIMEOUT_MS }),
    serviceId,
  );
}

export function createTelemetry(exporter: SpanExporter, serviceId: string): Telemetry {
  const provider = new TracerProvider({
    resource: resourceFromAttributes({ 'service.name': serviceId }),
    // Also where the caller does not sample: its decision covers only its own spans.
    sampler: new AlwaysOnSampler(),
    spanProcessors: [new BatchSpanProcessor({ exporter, exportTimeoutMillis: EXPORT_TIMEOUT_MS })],
  });
  const tracer = provider.getTracer('writ');
  const current = new AsyncLocalStorage<Context>();

  function begin(name: string, kind: SpanKind, context: Context): Span {
    const span = tracer.startSpan(name, { kind }, context);
    const within = trace.setSpan(context, span);
    return {
      within: (run) => current.run(within, run),
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
    close: () => provider.shutdown().catch(() => undefined),
  };
}

function below({ traceId, spanId, sampled }: TraceParent): Context {
  const traceFlags = sampled ? TraceFlags.SAMPLED : TraceFlags.NONE;
  return trace.setSpanContext(ROOT_CONTEXT, { traceId, spanId, traceFlags, isRemote: true });
}
