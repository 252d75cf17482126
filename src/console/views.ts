/**
 * The views of the console: each has an address, a title, and says whom it is for.
 *
 * Each is loaded when it is first shown.
 *
 * @module
 */

import type { ComponentType } from 'preact';
import type { Me } from '../protocol/console/views.ts';

export interface View {
  /** The first part of its address. */
  readonly name: string;
  readonly title: string;
  load(): Promise<ComponentType>;
  /** Whether the navigation names it for this person. */
  isFor(person: Me): boolean;
  /** For a person whom it is not for: why, and who can change it. Absent where the view says so itself. */
  readonly lack?: string;
}

export const VIEWS: readonly View[] = [
  {
    name: 'approvals',
    title: 'Approvals',
    load: async () => (await import('./views/approvals.tsx')).ApprovalsView,
    isFor: ({ approves }) => approves.length > 0,
  },
  {
    name: 'agents',
    title: 'Agents',
    load: async () => (await import('./views/agents.tsx')).AgentsView,
    isFor: () => true,
  },
  {
    name: 'activity',
    title: 'Activity',
    load: async () => (await import('./views/activity.tsx')).ActivityView,
    isFor: () => true,
  },
  {
    name: 'capabilities',
    title: 'Capabilities',
    load: async () => (await import('./views/capabilities.tsx')).CapabilitiesView,
    isFor: () => true,
  },
  {
    name: 'trust',
    title: 'Trust',
    load: async () => (await import('./views/trust.tsx')).TrustView,
    isFor: ({ is_anchored }) => is_anchored,
    lack: 'The log of this service is not sealed, so there is nothing to verify. An operator can set the trust level "anchored".',
  },
  {
    name: 'operations',
    title: 'Operations',
    load: async () => (await import('./views/operations.tsx')).OperationsView,
    isFor: ({ operates }) => operates.length > 0,
    lack: 'This page is for operators. A person who configures this service can give you a scope such as "operator:read".',
  },
  {
    name: 'tools',
    title: 'Tools',
    load: async () => (await import('./views/tools.tsx')).ToolsView,
    isFor: ({ has_reviews, operates }) => has_reviews && operates.includes('read'),
    lack: 'This page is for operators of a service that passes on tools of others. It takes the scope "operator:read".',
  },
  {
    name: 'passkeys',
    title: 'Passkeys',
    load: async () => (await import('./views/passkeys.tsx')).PasskeysView,
    isFor: () => true,
  },
];
