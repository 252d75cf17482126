/**
 * The view Agents.
 *
 * @module
 */

export function AgentsView() {
  return <h1>Agents</h1>;
}
