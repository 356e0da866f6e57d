package command

import (
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/subagent"
	"github.com/skein-bot/skein/core/words"
)

// monthDays is how many days, today among them, /usage sums up.
const monthDays = 30

// usage is /usage: what this conversation and the person used, and what is left
// of each budget that there is.
func (s Set) usage(tx *store.Tx, r Request) (Reply, error) {
	if r.Args != "" && r.Args != "cost" {
		return Reply{}, words.RefuseUsageAlone(CodeUsage, "/usage")
	}
	w, today := r.Language, store.DayOf(r.Now)
	here, err := tx.UsageBelow(r.Session.ID)
	if err != nil {
		return Reply{}, err
	}
	lines := []string{w.UsageSession(usedText(w, here.Usage))}
	var day store.DayUsage
	if r.Actor != "" {
		if day, err = tx.UsageOf(r.Actor, today); err != nil {
			return Reply{}, err
		}
		month, err := tx.UsageSince(r.Actor, today-monthDays+1)
		if err != nil {
			return Reply{}, err
		}
		lines = append(lines, w.UsageToday(usedText(w, day.Usage)), w.UsageMonth(usedText(w, month.Usage)))
	}
	left, err := s.budgetLines(tx, r)
	if err != nil {
		return Reply{}, err
	}
	lines = append(lines, left...)
	limit := core.MicroUSD(s.o.Config.USDPerDay(r.Message.Address.Channel, r.Message.Address.Account))
	if limit > 0 && r.Actor != "" && !r.Operator {
		lines = append(lines, w.UsageLeftYou(leftText(w, limit-day.MicroUSD, day.Unpriced), core.Dollars(limit)))
	}
	return Reply{Text: strings.Join(lines, "\n")}, nil
}

// budgetLines say what is left of the budgets on which the latest turn of the
// conversation drew, or would draw if there was none yet.
func (s Set) budgetLines(tx *store.Tx, r Request) ([]string, error) {
	session, turn := r.Session, store.Turn{}
	session.Agent = r.AgentID
	if session.ID != 0 {
		turns, err := tx.TurnsOfSession(session.ID, 1)
		if err != nil {
			return nil, err
		}
		if len(turns) > 0 {
			turn = turns[0]
		}
	}
	budgets, err := subagent.BudgetsOfTurn(tx, s.o.Config.Limits, turn, session, r.Now)
	var lines []string
	for _, b := range budgets {
		lines = append(lines, budgetLine(r.Language, b)...)
	}
	return lines, err
}

// budgetLine says what is left of one budget, a line for each of its limits.
func budgetLine(w words.Language, b subagent.Budget) (lines []string) {
	left, limit := leftText(w, b.LeftMicroUSD(), b.Spent.Unpriced), core.Dollars(b.MicroUSD)
	tokens, most := int(b.LeftTokens()), int(b.Tokens)
	name := core.Clip(b.Name, nameLimit)
	add := func(when bool, line string) {
		if when {
			lines = append(lines, line)
		}
	}
	add(b.Tokens > 0 && b.Scope == subagent.BudgetRequest, w.UsageLeftRequestTokens(tokens, most))
	add(b.Tokens > 0 && b.Scope == subagent.BudgetRun, w.UsageLeftRunTokens(tokens, most, name))
	add(b.MicroUSD > 0 && b.Scope == subagent.BudgetRequest, w.UsageLeftRequestUsd(left, limit))
	add(b.MicroUSD > 0 && b.Scope == subagent.BudgetRun, w.UsageLeftRunUsd(left, limit, name))
	add(b.MicroUSD > 0 && b.Scope == subagent.BudgetDay, w.UsageLeftDay(b.Agent, left, limit))
	return lines
}

// leftText writes what is left of money; of what had no price nobody knows what
// it took.
func leftText(w words.Language, micro, unpriced int64) string {
	text := core.Dollars(max(micro, 0))
	if unpriced > 0 {
		return w.CostPartial(text)
	}
	return text
}

// usedText writes tokens and their cost.
func usedText(w words.Language, u core.Usage) string {
	return w.UsageUsed(costText(w, u), int(u.Tokens()))
}

// costText writes a cost as core.Usage.Cost does, in a language.
func costText(w words.Language, u core.Usage) string {
	text := core.Dollars(u.MicroUSD)
	if u.MicroUSD > 0 && u.MicroUSD < 10_000 {
		text = w.CostUnder("$0.01")
	}
	switch {
	case u.Unpriced > 0 && u.Unpriced >= u.Tokens():
		return w.CostUnknown()
	case u.Unpriced > 0:
		return w.CostPartial(text)
	}
	return text
}
