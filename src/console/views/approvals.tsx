/**
 * The view Approvals.
 *
 * @module
 */

export function ApprovalsView() {
  return <h1>Approvals</h1>;
}
