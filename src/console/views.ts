/**
 * The views of the console: each has an address, a title, and says whom it is for.
 *
 * Each is loaded when it is first shown.
 *
 * @module
 */

import type { ComponentType } from 'preact';
import type { Me, Pulse } from '../protocol/console/views.ts';
import type { IconName } from './parts/icon.tsx';

export interface View {
  /** The first part of its address. */
  readonly name: string;
  readonly title: string;
  readonly icon: IconName;
  load(): Promise<ComponentType>;
  /** Whether the navigation names it for this person. */
  isFor(person: Me): boolean;
  /** What waits there for this person. */
  count?(pulse: Pulse): Count | undefined;
  /** For a person whom it is not for: why, and who can change it. Absent where the view says so itself. */
  readonly lack?: string;
}

/** A number beside the name of a view; none is shown for zero. */
interface Count {
  readonly digits: string;
  /** Ends the sentence that the number begins, for screen readers. */
  readonly words: string;
  readonly look: 'hot' | 'warn' | 'bad' | 'plain';
}

export const VIEWS: readonly View[] = [
  {
    name: 'approvals',
    title: 'Approvals',
    icon: 'seal',
    load: async () => (await import('./views/approvals.tsx')).ApprovalsView,
    isFor: ({ approves }) => approves.length > 0,
    count: ({ pending, pending_max }) =>
      pending === 0
        ? undefined
        : {
            digits: pending >= pending_max ? `${pending_max}+` : String(pending),
            words: 'wait for you',
            look: 'hot',
          },
  },
  {
    name: 'agents',
    title: 'Agents',
    icon: 'agent',
    load: async () => (await import('./views/agents.tsx')).AgentsView,
    isFor: () => true,
  },
  {
    name: 'activity',
    title: 'Activity',
    icon: 'clock',
    load: async () => (await import('./views/activity.tsx')).ActivityView,
    isFor: () => true,
  },
  {
    name: 'capabilities',
    title: 'Capabilities',
    icon: 'tool',
    load: async () => (await import('./views/capabilities.tsx')).CapabilitiesView,
    // The page Tools leads to each of them.
    isFor: (person) => !readsTools(person),
  },
  {
    name: 'tools',
    title: 'Tools',
    icon: 'tool',
    load: async () => (await import('./views/tools.tsx')).ToolsView,
    isFor: readsTools,
    count: ({ reviews }) =>
      reviews === 0
        ? undefined
        : {
            digits: String(reviews),
            words: reviews === 1 ? 'needs review' : 'need review',
            look: 'warn',
          },
    lack: 'This page is for operators of a service that passes on tools of others. It takes the scope "operator:read".',
  },
  {
    name: 'trust',
    title: 'Trust',
    icon: 'chain',
    load: async () => (await import('./views/trust.tsx')).TrustView,
    isFor: ({ is_anchored }) => is_anchored,
    lack: 'The log of this service is not sealed, so there is nothing to verify. An operator can set the trust level "anchored".',
  },
  {
    name: 'operations',
    title: 'Operations',
    icon: 'pulse',
    load: async () => (await import('./views/operations.tsx')).OperationsView,
    isFor: ({ operates }) => operates.length > 0,
    lack: 'This page is for operators. A person who configures this service can give you a scope such as "operator:read".',
  },
  {
    name: 'passkeys',
    title: 'Passkeys',
    icon: 'passkey',
    load: async () => (await import('./views/passkeys.tsx')).PasskeysView,
    isFor: () => true,
  },
];

function readsTools({ has_reviews, operates }: Me): boolean {
  return has_reviews && operates.includes('read');
}
