/**
 * The view Operations.
 *
 * @module
 */

export function OperationsView() {
  return <h1>Operations</h1>;
}
