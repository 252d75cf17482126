/**
 * Capabilities: the catalog with a search by name, how the capabilities relate, and one page for each.
 *
 * @module
 */

import '../style/capabilities.css';
import { ask } from '../api.ts';
import { Failed, Loading, useLoaded } from '../parts/loaded.tsx';
import { route } from '../router.ts';
import { Catalog } from './capabilities/catalog.tsx';
import { CapabilityPage } from './capabilities/one.tsx';

export function CapabilitiesView() {
  const { id, query } = route.value;
  const loaded = useLoaded(() => ask('manifest', {}), []);
  if (loaded.state === 'loading') {
    return (
      <>
        <h1>Capabilities</h1>
        <Loading what="the catalog" />
      </>
    );
  }
  if (!loaded.value) {
    return (
      <>
        <h1>Capabilities</h1>
        <Failed
          what="The catalog"
          why={loaded.state === 'failed' ? loaded.why : ''}
          again={loaded.again}
        />
      </>
    );
  }
  const { capabilities } = loaded.value;
  if (id === undefined) return <Catalog of={capabilities} query={query} />;
  return <CapabilityPage key={id} name={id} catalog={capabilities} />;
}
