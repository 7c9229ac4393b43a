package redis

import "context"

// try runs an operation until it succeeds or must not be tried again.
func (s *Store) try(ctx context.Context, what string, do func(ctx context.Context, attempt int) error) error {
	return do(ctx, 1)
}
