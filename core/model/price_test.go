package model

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
)

func TestPrice(t *testing.T) {
	usd := func(v float64) *float64 { return &v }
	full := Price{In: usd(3), Out: usd(15), CacheRead: usd(0.3), CacheWrite: usd(3.75)}
	for _, c := range []struct {
		name  string
		price Price
		used  Usage
		want  core.Usage
	}{
		{"all prices", full, Usage{In: 1000, Out: 10}, core.Usage{TokensIn: 1000, TokensOut: 10, MicroUSD: 3150}},
		{
			"the parts of the cache have prices of their own", full, Usage{In: 1000, Out: 10, CacheRead: 600, CacheWrite: 100},
			core.Usage{TokensIn: 1000, TokensOut: 10, CacheRead: 600, CacheWrite: 100, MicroUSD: 900 + 150 + 180 + 375},
		},
		{
			"no price for the cache", Price{In: usd(3), Out: usd(15)}, Usage{In: 1000, Out: 10, CacheRead: 600},
			core.Usage{TokensIn: 1000, TokensOut: 10, CacheRead: 600, MicroUSD: 1350, Unpriced: 600},
		},
		{"no price", Price{}, Usage{In: 7, Out: 2}, core.Usage{TokensIn: 7, TokensOut: 2, Unpriced: 9}},
		{"free", Price{In: usd(0), Out: usd(0)}, Usage{In: 7, Out: 2}, core.Usage{TokensIn: 7, TokensOut: 2}},
		{"rounded", Price{In: usd(0.05), Out: usd(0.05)}, Usage{In: 7, Out: 4}, core.Usage{TokensIn: 7, TokensOut: 4, MicroUSD: 1}},
		{
			"a service that counts the cache apart", full, Usage{In: 5, CacheRead: 9, CacheWrite: 9},
			core.Usage{TokensIn: 5, CacheRead: 5, MicroUSD: 2},
		},
	} {
		t.Run(c.name, func(t *testing.T) { require.Equal(t, c.want, c.price.Of(c.used)) })
	}
}
