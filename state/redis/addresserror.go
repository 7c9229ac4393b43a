package redis

import "fmt"

// AddressError is an address that cannot be understood, or that names a file
// which cannot be read.
type AddressError struct {
	Address string // without password
	Err     error
}

func (e *AddressError) Error() string { return fmt.Sprintf("address %s: %v", e.Address, e.Err) }

// Unwrap returns the cause.
func (e *AddressError) Unwrap() error { return e.Err }
