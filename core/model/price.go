package model

import (
	"math"

	"github.com/skein-bot/skein/core"
)

// Price is what a model costs, in US dollars per million tokens; nil is
// unknown, which is not free.
type Price struct{ In, Out, CacheRead, CacheWrite *float64 }

// Of returns what a call used and cost. Tokens that need a price that is not
// known are counted as unpriced.
func (p Price) Of(u Usage) core.Usage {
	read := min(u.CacheRead, u.In)
	written := min(u.CacheWrite, u.In-read)
	out := core.Usage{TokensIn: u.In, TokensOut: u.Out, CacheRead: read, CacheWrite: written}
	var micro float64 // a dollar per million tokens is a millionth of one per token
	for _, part := range []struct {
		tokens int64
		price  *float64
	}{{u.In - read - written, p.In}, {u.Out, p.Out}, {read, p.CacheRead}, {written, p.CacheWrite}} {
		if part.price == nil {
			out.Unpriced += part.tokens
			continue
		}
		micro += float64(part.tokens) * *part.price
	}
	out.MicroUSD = int64(math.Round(micro))
	return out
}
