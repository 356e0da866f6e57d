package core

import (
	"fmt"
	"math"
	"strings"
)

// Usage is what model calls used and what that cost, of one call or of many.
type Usage struct {
	TokensIn  int64 `json:"tokensIn"`  // read, from a cache or not
	TokensOut int64 `json:"tokensOut"` // written
	// CacheRead and CacheWrite are the parts of TokensIn that a provider read
	// from its cache or put into it.
	CacheRead  int64 `json:"cacheRead,omitempty"`
	CacheWrite int64 `json:"cacheWrite,omitempty"`
	// MicroUSD is the cost, in millionths of a US dollar, of the tokens that
	// have a price. Unpriced counts the others: with any, MicroUSD is a part.
	MicroUSD int64 `json:"microUsd,omitempty"`
	Unpriced int64 `json:"unpriced,omitempty"`
}

// Tokens counts the tokens, read and written.
func (u Usage) Tokens() int64 { return u.TokensIn + u.TokensOut }

// USD returns the cost in US dollars.
func (u Usage) USD() float64 { return float64(u.MicroUSD) / 1e6 }

// Plus returns the sum of u and v.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		TokensIn: u.TokensIn + v.TokensIn, TokensOut: u.TokensOut + v.TokensOut, CacheRead: u.CacheRead + v.CacheRead,
		CacheWrite: u.CacheWrite + v.CacheWrite, MicroUSD: u.MicroUSD + v.MicroUSD, Unpriced: u.Unpriced + v.Unpriced,
	}
}

// Cost writes the cost for people: "$0.04", "under $0.01", "$0.02 (partial)"
// where some tokens have no price, "unknown (no price)" where none has one.
func (u Usage) Cost() string {
	text := Dollars(u.MicroUSD)
	if u.MicroUSD > 0 && u.MicroUSD < 10_000 {
		text = "under $0.01"
	}
	switch {
	case u.Unpriced > 0 && u.Unpriced >= u.Tokens():
		return "unknown (no price)"
	case u.Unpriced > 0:
		return text + " (partial)"
	}
	return text
}

// Dollars writes an amount in millionths of a US dollar, "$0.04"; one under a
// cent with all its digits that count, "$0.0012".
func Dollars(micro int64) string {
	if micro > 0 && micro < 10_000 {
		return "$" + strings.TrimRight(fmt.Sprintf("%.6f", float64(micro)/1e6), "0")
	}
	return fmt.Sprintf("$%.2f", float64(micro)/1e6)
}

// MicroUSD returns an amount of US dollars in millionths; what is more than
// nothing is at least one.
func MicroUSD(usd float64) int64 {
	if usd <= 0 {
		return 0
	}
	return max(int64(math.Round(usd*1e6)), 1)
}
