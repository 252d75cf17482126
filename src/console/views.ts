/**
 * The views of the console: each has an address, a title, and says whom it is for.
 *
 * @module
 */

import type { ComponentType } from 'preact';
import type { Me } from '../protocol/console/views.ts';
import { ActivityView } from './views/activity.tsx';
import { AgentsView } from './views/agents.tsx';
import { ApprovalsView } from './views/approvals.tsx';
import { CapabilitiesView } from './views/capabilities.tsx';
import { OperationsView } from './views/operations.tsx';
import { TrustView } from './views/trust.tsx';

export interface View {
  /** The first part of its address. */
  readonly name: string;
  readonly title: string;
  readonly View: ComponentType;
  isFor(person: Me): boolean;
}

export const VIEWS: readonly View[] = [
  {
    name: 'approvals',
    title: 'Approvals',
    View: ApprovalsView,
    isFor: ({ has_approvals }) => has_approvals,
  },
  { name: 'agents', title: 'Agents', View: AgentsView, isFor: () => true },
  { name: 'activity', title: 'Activity', View: ActivityView, isFor: () => true },
  { name: 'capabilities', title: 'Capabilities', View: CapabilitiesView, isFor: () => true },
  { name: 'trust', title: 'Trust', View: TrustView, isFor: ({ is_anchored }) => is_anchored },
  {
    name: 'operations',
    title: 'Operations',
    View: OperationsView,
    isFor: ({ operates }) => operates.length > 0,
  },
];
