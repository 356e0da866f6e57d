package app

import (
	"net/http"
	"strconv"
	"time"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
)

// AgentUsageView is what an agent used on a day.
type AgentUsageView struct {
	// The day, in UTC, such as 2026-01-05.
	Day string `json:"day"`
	// The agent whose sessions they are.
	Agent string `json:"agent"`
	// Turns that asked a model or ended, those of sub-agents too.
	Turns int64 `json:"turns"`
	// Tokens read, from a cache or not.
	TokensIn int64 `json:"tokensIn"`
	// Tokens written.
	TokensOut int64 `json:"tokensOut"`
	// The part of the tokens read that came from the provider's cache.
	CacheRead int64 `json:"cacheRead,omitempty"`
	// Cost of the tokens that have a price, in millionths of a US dollar.
	MicroUSD int64 `json:"microUsd"`
	// Tokens without a price; with any, the cost is only a part.
	Unpriced int64 `json:"unpriced,omitempty"`
	// The agent's limit of a day (perDayUsd), in millionths of a US dollar; only today.
	LimitMicroUSD int64 `json:"limitMicroUsd,omitempty"`
	// What is left of that.
	LeftMicroUSD int64 `json:"leftMicroUsd,omitempty"`
}

// BudgetView is a budget that a task draws on.
type BudgetView struct {
	// What it is of: day (of an agent), request (what one message set going), or run (with everything below it).
	Scope subagent.BudgetScope `json:"scope"`
	// The agent whose limits these are, or that does the run.
	Agent string `json:"agent"`
	// Id of the run, of scope run.
	RunID string `json:"runId,omitempty"`
	// Tokens at most; left out for no limit.
	Tokens int64 `json:"tokens,omitempty"`
	// Tokens spent.
	TokensSpent int64 `json:"tokensSpent"`
	// Cost at most, in millionths of a US dollar; left out for no limit.
	MicroUSD int64 `json:"microUsd,omitempty"`
	// Cost of what was spent and has a price.
	MicroUSDSpent int64 `json:"microUsdSpent"`
	// Tokens spent without a price; with any, the cost is only a part.
	Unpriced int64 `json:"unpriced,omitempty"`
}

// usageDays are the days that /usage shows where the request does not say, and
// at most.
const (
	usageDays    = 30
	usageDaysMax = 366
)

// Usage returns what each agent used on each of the last days, the latest first.
func (v Views) Usage(tx *store.Tx, days int) ([]AgentUsageView, error) {
	today := store.DayOf(v.Now)
	list, err := tx.AgentDays(today - store.Day(days) + 1)
	if err != nil {
		return nil, err
	}
	out := make([]AgentUsageView, len(list))
	for i, d := range list {
		out[i] = AgentUsageView{
			Day: d.Day.Start().Time().UTC().Format(time.DateOnly), Agent: d.Agent, Turns: d.Turns, TokensIn: d.TokensIn, TokensOut: d.TokensOut,
			CacheRead: d.CacheRead, MicroUSD: d.MicroUSD, Unpriced: d.Unpriced,
		}
		limit := limitsOf(v.Config, d.Agent).DayMicroUSD
		if d.Day != today || limit == 0 {
			continue
		}
		spent, err := tx.SpentOnDay(d.Agent, today)
		if err != nil {
			return nil, err
		}
		out[i].LimitMicroUSD, out[i].LeftMicroUSD = limit, max(limit-spent.MicroUSD, 0)
	}
	return out, nil
}

// budgets are those that a run draws on.
func (v Views) budgets(tx *store.Tx, run core.Run) ([]BudgetView, error) {
	out := []BudgetView{}
	list, err := subagent.BudgetsOfRun(tx, func(id string) subagent.Limits { return limitsOf(v.Config, id) }, run, v.Now)
	for _, b := range list {
		out = append(out, BudgetView{
			Scope: b.Scope, Agent: b.Agent, RunID: b.Run, Tokens: b.Tokens, TokensSpent: b.Spent.Tokens, MicroUSD: b.MicroUSD,
			MicroUSDSpent: b.Spent.MicroUSD, Unpriced: b.Spent.Unpriced,
		})
	}
	return out, err
}

func (s api) usage(r *http.Request) ([]AgentUsageView, error) {
	days := usageDays
	if text := r.URL.Query().Get("days"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > usageDaysMax {
			return nil, core.Errorf("bad_request", "days is %q", text).WithRemedy("use 1 to %d", usageDaysMax)
		}
		days = n
	}
	return read(s, r, func(v Views, tx *store.Tx) ([]AgentUsageView, error) { return v.Usage(tx, days) })
}
