/**
 * The view Trust. The verifier behind it is large; the frame loads the view only when a person opens it.
 *
 * @module
 */

import { route } from '../router.ts';
import { TrustPage } from '../trust/page.tsx';

/** A link to another entry is another page. */
export function TrustView() {
  return <TrustPage key={route.value.query.toString()} />;
}
