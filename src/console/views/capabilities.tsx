/**
 * The view Capabilities.
 *
 * @module
 */

export function CapabilitiesView() {
  return <h1>Capabilities</h1>;
}
