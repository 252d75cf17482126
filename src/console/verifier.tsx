/**
 * The verifier: a page in one file that verifies a log without any service.
 *
 * @module
 */

import { render } from 'preact';
import './style/tokens.css';
import './style/pages.css';

function Verifier() {
  return (
    <main id="main">
      <h1>Verify a log</h1>
    </main>
  );
}

render(<Verifier />, document.getElementById('app') as HTMLElement);
