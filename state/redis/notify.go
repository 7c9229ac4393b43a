package redis

type cancels struct{}
