/**
 * Verification without the service, for Node and browsers: what `writ/verify` offers.
 *
 * @module
 */

export { type NoteKey, readVkey } from '../domain/log/note-key.ts';
export { type CheckpointReport, verifyCheckpoint } from './checkpoint.ts';
export { type CheckpointPair, verifyConsistency } from './consistency.ts';
export { type EntryReport, type ProvedEntry, verifyEntry } from './entry.ts';
export { type ExportReport, verifyExport } from './export/export.ts';
export type { ExportAnchors } from './export/lines.ts';
export { type GrantReport, verifyGrant } from './grant.ts';
export { type KeySource, type Keys, readKeys, type VerifyingKey } from './keys.ts';
export { type ManifestReport, verifyManifest } from './manifest.ts';
export { type PasskeyReport, verifyPasskeyDecision } from './passkey.ts';
export { type ProvedReceipt, verifyReceipt, verifySignedReceipt } from './receipt.ts';
export type { Check, Outcome, Report, Verdict } from './report.ts';
export type { CheckpointAnchors, TrustAnchors } from './signed.ts';
export { followKeys } from './successors.ts';
export { type TokenReport, verifyToken } from './token.ts';
