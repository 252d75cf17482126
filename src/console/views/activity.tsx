/**
 * The view Activity.
 *
 * @module
 */

export function ActivityView() {
  return <h1>Activity</h1>;
}
