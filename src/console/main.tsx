/**
 * The console: what approvers, operators and auditors look at.
 *
 * `router.ts` knows which view an address has, `api.ts` asks the service, `live.ts` keeps what is shown true. Each
 * view is one file in `views/`; `parts/` has what views share.
 *
 * @module
 */

import './no-eval.ts';
import { render } from 'preact';
import './style/tokens.css';
import './style/pages.css';
import { App } from './app.tsx';

render(<App />, document.getElementById('app') as HTMLElement);
