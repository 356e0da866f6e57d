package agent

import (
	"context"
	"errors"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
)

// Purse is what the model calls of a turn draw on: the budgets of its request,
// of its run and of those above it, and of its agent's day.
type Purse interface {
	// Left returns a *BudgetError where one of them is spent, and any other
	// error where that cannot be told. u is what the turn has used and not
	// booked yet.
	Left(tx *store.Tx, u core.Usage) error
}

// BudgetError is why a turn makes no further call. It wraps a *core.Error of
// code "budget", with figures and a remedy.
type BudgetError struct {
	Err error
	// Agent is the one whose limits are used up, "" where a requester had given
	// its run less. Key is the limit, Spent and Limit its figures, for people.
	Agent, Key, Spent, Limit string
}

// Error returns the figures and the remedy.
func (e *BudgetError) Error() string { return e.Err.Error() }

// Unwrap returns the *core.Error.
func (e *BudgetError) Unwrap() error { return e.Err }

// over reports whether an error says that a budget is spent.
func over(err error) bool {
	_, is := asOver(err)
	return is
}

func asOver(err error) (b *BudgetError, is bool) {
	is = errors.As(err, &b)
	return b, is
}

// afford is called before each model call. Budgets are read, not reserved: what
// other calls of the same budget use at this moment is seen by the next one.
func (t *turn) afford(ctx context.Context) error {
	if t.purse == nil {
		return nil
	}
	err := t.r.opts.DB.Read(ctx, func(tx *store.Tx) error { return t.purse.Left(tx, t.usage) })
	switch cause := context.Cause(ctx); {
	case err == nil || over(err):
		return err
	case cause != nil:
		return cause
	}
	return storeError{err}
}
