/**
 * The capability graph: how the declared capabilities point to each other and to other services.
 *
 * @module
 */

import type { Capability, Catalog } from '../../protocol/capability.ts';
import type { GraphEdge as Edge, Graph } from '../../protocol/trust.ts';

/** All capabilities, or one with its direct neighbours. */
export function graphOf(catalog: Catalog, around?: string): Graph {
  const capabilities = [...catalog.capabilities.values()];
  const edges = capabilities
    .flatMap(edgesOf)
    .filter(({ from, to, service }) => !around || from === around || (to === around && !service));
  // A capability of another service is not ours, even under the same name.
  const ends = edges.flatMap(({ from, to, service }) => (service ? [from] : [from, to]));
  const shown = new Set(around ? [around, ...ends] : []);
  const own = capabilities
    .filter(({ name }) => !around || shown.has(name))
    .map(({ name, side_effect, kind }) => ({
      capability: name,
      side_effect: side_effect.type,
      kind,
    }));
  return { nodes: [...own, ...foreignNodes(edges)], edges };
}

function edgesOf(capability: Capability): Edge[] {
  const from = capability.name;
  const { compensation } = capability.side_effect;
  const inside = (type: Edge['type'], names: readonly string[] = []): Edge[] =>
    names.map((to) => ({ type, from, to }));
  const steps = capability.composition?.steps.map((step) => step.capability);
  return [
    ...(capability.requires ?? []).map(
      ({ capability: to, reason }): Edge => ({ type: 'requires', from, to, reason }),
    ),
    ...inside('composition', steps && [...new Set(steps)]),
    ...inside('compensation', compensation ? [compensation] : []),
    ...inside('refresh', capability.refresh_via),
    ...inside('verify', capability.verify_via),
    ...Object.entries(capability.cross_service ?? {}).flatMap(([relation, targets]) =>
      (targets ?? []).map(
        ({ service, capability: to }): Edge => ({
          type: 'cross_service',
          from,
          to,
          service,
          relation,
        }),
      ),
    ),
  ];
}

function foreignNodes(edges: readonly Edge[]): Graph['nodes'] {
  const nodes = new Map<string, Graph['nodes'][number]>();
  for (const { service, to } of edges) {
    if (service) nodes.set(`${service} ${to}`, { capability: to, service });
  }
  return [...nodes.values()];
}
