// Package schema has no code: its tests read the deployment's files with what reads
// them in earnest: compose's loader, Kubernetes' types under strict decoding, and the
// image builder's parser. It is a module of its own, so that their dependencies are
// none of Junction's.
package schema
