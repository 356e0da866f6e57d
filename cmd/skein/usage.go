package main

import (
	"net/url"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
	"github.com/skein-bot/skein/core/subagent"
)

func usageCommand(e *env) *cobra.Command {
	days := 0
	return query[[]app.AgentUsageView]{
		use: "usage", short: "Show what each agent used on each day, and what it cost", args: cobra.NoArgs,
		long: `Show what each agent used on each day of UTC, the latest first: turns that
ended, tokens read and written, and their cost. A cost is partial where a model
has no price. LEFT is what the agent has left of its day (limits.perDayUsd).`,
		flags: func(cmd *cobra.Command) {
			cmd.Flags().IntVar(&days, "days", 30, "days, today among them, 1 to 366")
		},
		ask: func([]string) (string, url.Values) { return "/usage", url.Values{"days": {strconv.Itoa(days)}} },
		show: func(p printer, list []app.AgentUsageView) {
			rows := make([][]cell, len(list))
			for i, u := range list {
				left := plainCell("-")
				if u.LimitMicroUSD > 0 {
					left = plainCell("%s of %s", core.Dollars(u.LeftMicroUSD), core.Dollars(u.LimitMicroUSD))
				}
				rows[i] = []cell{
					plainCell("%s", u.Day), plainCell("%s", u.Agent), plainCell("%d", u.Turns), plainCell("%d/%d", u.TokensIn, u.TokensOut),
					costCell(u.TokensIn+u.TokensOut, u.MicroUSD, u.Unpriced), left,
				}
			}
			p.table("nothing was used", []string{"DAY", "AGENT", "TURNS", "TOKENS", "COST", "LEFT"}, rows)
		},
	}.command(e)
}

// budgetTable shows what is left of budgets.
func budgetTable(p printer, list []app.BudgetView) {
	var rows [][]cell
	for _, b := range list {
		of := b.Agent
		if b.Scope == subagent.BudgetRun {
			of = b.RunID
		}
		row := func(limit, spent, left string) {
			rows = append(rows, []cell{plainCell("%s", b.Scope), plainCell("%s", of), plainCell("%s", limit), plainCell("%s", spent), plainCell("%s", left)})
		}
		if b.Tokens > 0 {
			row(strconv.FormatInt(b.Tokens, 10)+" tokens", strconv.FormatInt(b.TokensSpent, 10), strconv.FormatInt(max(b.Tokens-b.TokensSpent, 0), 10))
		}
		if b.MicroUSD > 0 {
			partial := choose(b.Unpriced > 0, " (partial)", "")
			row(core.Dollars(b.MicroUSD), core.Dollars(b.MicroUSDSpent)+partial, core.Dollars(max(b.MicroUSD-b.MicroUSDSpent, 0))+partial)
		}
	}
	p.table("", []string{"BUDGET OF", "WHICH", "LIMIT", "SPENT", "LEFT"}, rows)
}
