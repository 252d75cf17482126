/**
 * The lines of exported logs and trails.
 *
 * @module
 */

import { CHECKPOINT_ID, ENTRY_ID, type Examples, HASH, SIGNATURE, TIME, whole } from './example.ts';
import { open } from './openness.ts';

const checkpoint = {
  checkpoint_id: CHECKPOINT_ID,
  sequence: 18,
  merkle_root: `sha256:${HASH}`,
  entry_count: 904,
  created_at: TIME,
  timestamp: TIME,
  signature: SIGNATURE,
};
const detail = { ...checkpoint, tree_size: 904, tree_head: 'travel-service/log/1\n904\n' };

const coordinate = 'A'.repeat(43);
const jwks = {
  keys: [
    {
      kty: 'EC',
      crv: 'P-256',
      x: coordinate,
      y: coordinate,
      kid: coordinate,
      use: 'sig',
      alg: 'ES256',
    },
  ],
};

const service_id = 'travel-service';
const logHeader = whole({
  format: 'writ-log/1',
  ...{ service_id, tree_size: 904, checkpoints: 18, jwks },
});
const trailHeader = whole({
  format: 'writ-trail/1',
  ...{ service_id, entries: 12, checkpoint: detail, jwks },
});

const entry = open('entry', { entry_id: ENTRY_ID, sequence: 7 });
const inclusion_proof = { leaf_index: 7, tree_size: 904, leaf_hash: HASH, hashes: [HASH] };

export const EXPORT_EXAMPLES: Examples = {
  LogHeader: [logHeader],
  TrailHeader: [trailHeader],
  ExportHeader: [logHeader, trailHeader],
  LogLine: [whole({ entry }), whole({ checkpoint }), whole({ checkpoint: detail })],
  TrailLine: [
    { full: { entry, inclusion_proof, checkpoint: detail }, minimal: { entry, inclusion_proof } },
  ],
};
