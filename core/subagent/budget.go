package subagent

import (
	"errors"
	"fmt"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/agent"
	"github.com/skein-bot/skein/core/kernel"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/words"
)

// CodeBudget is the code of everything that a spent budget refuses or stops.
const CodeBudget = "budget"

// Limits are agents.*.limits of one agent; 0 is no limit.
type Limits struct {
	// Tokens and MicroUSD bound each of its requests, and each of its runs with
	// everything below it. MicroUSD is in millionths of a US dollar.
	Tokens, MicroUSD int64
	// DayMicroUSD bounds what its own calls cost in a day of UTC.
	DayMicroUSD int64
}

// BudgetScope says what a budget is of.
type BudgetScope string

// The scopes, from the widest.
const (
	BudgetDay     BudgetScope = "day"     // of an agent, with all its sessions
	BudgetRequest BudgetScope = "request" // of what one message set going, with every run below
	BudgetRun     BudgetScope = "run"     // of a run with every run below it
)

// Budget is one budget that a turn draws on, and what was spent of it.
type Budget struct {
	Scope BudgetScope
	// Agent is the one whose limits these are; "" where all that bounds a run
	// is what its requester gave it.
	Agent string
	Run   string // the run, of scope run
	Name  string // what people call that run
	// Tokens and MicroUSD are the limits, 0 for none.
	Tokens, MicroUSD int64
	Spent            store.Spent

	ownTokens, ownUSD bool // the limit is what the requester gave
}

// LeftTokens returns how many tokens are left, if that is limited.
func (b Budget) LeftTokens() int64 { return max(b.Tokens-b.Spent.Tokens, 0) }

// LeftMicroUSD returns how much money is left, if that is limited.
func (b Budget) LeftMicroUSD() int64 { return max(b.MicroUSD-b.Spent.MicroUSD, 0) }

// over returns why no further call may draw on the budget, nil if one may.
// Tokens without a price cost nothing that could be counted.
func (b Budget) over() *agent.BudgetError {
	switch {
	case b.Tokens > 0 && b.LeftTokens() == 0:
		return b.overTokens()
	case b.MicroUSD > 0 && b.LeftMicroUSD() == 0:
		return b.overUSD()
	}
	return nil
}

func (b Budget) overTokens() *agent.BudgetError {
	e := &agent.BudgetError{Agent: b.Agent, Key: "maxTokens", Spent: fmt.Sprint(b.Spent.Tokens), Limit: fmt.Sprint(b.Tokens)}
	if b.ownTokens {
		e.Agent = ""
	}
	spent, limit := int(b.Spent.Tokens), int(b.Tokens)
	e.Err = words.RefuseBudgetRequestTokens(CodeBudget, limit, spent)
	if b.Scope == BudgetRun {
		e.Err = words.RefuseBudgetRunTokens(CodeBudget, limit, b.Name, spent)
	}
	return e
}

func (b Budget) overUSD() *agent.BudgetError {
	e := &agent.BudgetError{Agent: b.Agent, Key: "maxUsd", Spent: core.Dollars(b.Spent.MicroUSD), Limit: core.Dollars(b.MicroUSD)}
	if b.ownUSD {
		e.Agent = ""
	}
	switch b.Scope {
	case BudgetDay:
		e.Key, e.Err = "perDayUsd", words.RefuseBudgetDay(CodeBudget, b.Agent, e.Limit, e.Spent)
	case BudgetRequest:
		e.Err = words.RefuseBudgetRequestUsd(CodeBudget, e.Limit, e.Spent)
	case BudgetRun:
		e.Err = words.RefuseBudgetRunUsd(CodeBudget, e.Limit, b.Name, e.Spent)
	}
	return e
}

// purse is what the calls of one turn draw on. Its budgets are fixed; what was
// spent of them is read each time.
type purse struct {
	request int64
	budgets []Budget // the widest first
}

// newPurse finds the budgets of a turn: its agent's day, its request, and each
// run from the top down to its own. A budget without a limit is left out.
func newPurse(tx *store.Tx, limits func(agentID string) Limits, turn store.Turn, session store.Session) (purse, error) {
	p := purse{request: turn.Request}
	path, err := runsAbove(tx, turn.Run)
	if err != nil {
		return p, err
	}
	first := session.Agent // the agent that the request was made to
	if len(path) > 0 {
		top, err := tx.SessionByID(path[len(path)-1].Requester)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return p, err
		}
		if first = path[len(path)-1].Agent; err == nil {
			first = top.Agent
		}
	}
	p.addDay(session.Agent, limits(session.Agent))
	whole := limits(first)
	p.add(Budget{Scope: BudgetRequest, Agent: first, Tokens: whole.Tokens, MicroUSD: whole.MicroUSD})
	for i := len(path) - 1; i >= 0; i-- {
		p.add(runBudget(path[i], limits(path[i].Agent)))
	}
	return p, nil
}

// runsAbove returns a run and those above it that are still known, the nearest
// first.
func runsAbove(tx *store.Tx, run string) (path []core.Run, err error) {
	for run != "" {
		r, err := tx.RunByID(run)
		if errors.Is(err, store.ErrNotFound) {
			return path, nil // it was archived and swept
		}
		if err != nil {
			return nil, err
		}
		path, run = append(path, r), r.RequesterRun
	}
	return path, nil
}

// runBudget is the budget of a run: the smaller of its agent's limits and of
// what its requester gave it.
func runBudget(r core.Run, l Limits) Budget {
	b := Budget{Scope: BudgetRun, Agent: r.Agent, Run: r.ID, Name: r.Name(), Tokens: l.Tokens, MicroUSD: l.MicroUSD}
	if r.Spec.Budget == nil {
		return b
	}
	b.Tokens, b.ownTokens = smaller(l.Tokens, r.Spec.Budget.Tokens)
	b.MicroUSD, b.ownUSD = smaller(l.MicroUSD, core.MicroUSD(r.Spec.Budget.USD))
	return b
}

// smaller returns the smaller of two limits, of which 0 is none, and whether it
// is the second.
func smaller(a, b int64) (limit int64, second bool) {
	if b > 0 && (a == 0 || b < a) {
		return b, true
	}
	return a, false
}

func (p *purse) add(b Budget) {
	if b.Tokens > 0 || b.MicroUSD > 0 {
		p.budgets = append(p.budgets, b)
	}
}

// addDay adds the day of an agent.
func (p *purse) addDay(agentID string, l Limits) {
	p.add(Budget{Scope: BudgetDay, Agent: agentID, MicroUSD: l.DayMicroUSD})
}

// read returns the budgets with what was spent of them.
func (p *purse) read(tx *store.Tx, now core.Millis) ([]Budget, error) {
	out := append([]Budget(nil), p.budgets...)
	var runs []string
	for _, b := range out {
		if b.Scope != BudgetDay {
			runs = append(runs, b.Run)
		}
	}
	spent, err := tx.Spent(p.request, runs...)
	if err != nil {
		return nil, err
	}
	for i := range out {
		if out[i].Scope != BudgetDay {
			out[i].Spent = spent[out[i].Run]
		} else if out[i].Spent, err = tx.SpentOnDay(out[i].Agent, store.DayOf(now)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// left returns an *agent.BudgetError where one of the budgets is spent, u being
// used and not booked yet.
func (p *purse) left(tx *store.Tx, now core.Millis, u core.Usage) error {
	if len(p.budgets) == 0 {
		return nil
	}
	budgets, err := p.read(tx, now)
	if err != nil {
		return err
	}
	for _, b := range budgets {
		b.Spent = b.Spent.Plus(u)
		if over := b.over(); over != nil {
			return over
		}
	}
	return nil
}

// turnPurse implements agent.Purse.
type turnPurse struct {
	purse
	e *Engine
}

// Left implements agent.Purse.
func (p turnPurse) Left(tx *store.Tx, u core.Usage) error { return p.left(tx, p.e.World.Now(), u) }

// Purse implements agent.Ender.
func (e *Engine) Purse(tx *store.Tx, l *kernel.Lease) (agent.Purse, error) {
	p, err := newPurse(tx, e.Config.Limits, l.Turn, l.Session)
	if err != nil || len(p.budgets) == 0 {
		return nil, err
	}
	return turnPurse{p, e}, nil
}

// BudgetsOfTurn returns the limited budgets that a turn draws on, the widest
// first, with what was spent of them.
func BudgetsOfTurn(tx *store.Tx, limits func(agentID string) Limits, turn store.Turn, session store.Session, now core.Millis) ([]Budget, error) {
	p, err := newPurse(tx, limits, turn, session)
	if err != nil {
		return nil, err
	}
	return p.read(tx, now)
}

// BudgetsOfRun returns those of a run; of one that has ended, as they are now.
func BudgetsOfRun(tx *store.Tx, limits func(agentID string) Limits, run core.Run, now core.Millis) ([]Budget, error) {
	turn := store.Turn{Run: run.ID, Request: run.Request}
	return BudgetsOfTurn(tx, limits, turn, store.Session{Agent: run.Agent}, now)
}
