// Package gosdk holds our client against a server of another implementation, the
// official Go SDK, over stdio and over HTTP. It is a module of its own, so that the
// SDK stays out of Junction's.
package gosdk
