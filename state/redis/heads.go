package redis

type heads struct{}
