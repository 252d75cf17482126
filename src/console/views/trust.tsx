/**
 * The view Trust.
 *
 * @module
 */

export function TrustView() {
  return <h1>Trust</h1>;
}
