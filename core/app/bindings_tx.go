package app

import (
	"context"
	"errors"
	"strings"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/threadbind"
)

// bindingTx is a transaction of the store as package threadbind sees it.
type bindingTx struct {
	*store.Tx
	b *Bindings
	// from and until bound the deadlines that a sweep takes; 0 is no bound.
	from, until core.Millis
}

var _ threadbind.Tx = bindingTx{}

func (b *Bindings) tx(tx *store.Tx) bindingTx { return bindingTx{Tx: tx, b: b} }

// Post implements threadbind.Tx.
func (t bindingTx) Post(to core.Address, key, text string) error {
	_, _, err := t.b.o.Poster.Post(t.Tx, store.Outbox{
		OnceKey: key, Kind: outboxKind(key), Address: to, Text: text, At: t.b.o.World.Now(),
	})
	return err
}

// outboxKind is the kind of a message by the prefix of its once key.
func outboxKind(key string) store.OutboxKind {
	switch prefix, _, _ := strings.Cut(key, "/"); prefix {
	case "intro":
		return store.OutIntro
	case "farewell":
		return store.OutFarewell
	}
	return store.OutNotice
}

// SetTimer implements threadbind.Tx.
func (t bindingTx) SetTimer(kind, ref string, due core.Millis) error {
	if due != 0 {
		t.OnCommit(func() { t.b.kernel.Due(due) })
	}
	return t.Tx.SetTimer(store.Timer{Kind: kind, Ref: ref, Due: due})
}

// BindingsDue implements threadbind.Tx.
func (t bindingTx) BindingsDue(now core.Millis, limit int) ([]core.Binding, error) {
	if t.until != 0 {
		now = min(now, t.until)
	}
	return t.BindingsDueFrom(t.from, now, limit)
}

// placeRetries is how often a unit of work runs whose place was taken by
// another node meanwhile.
const placeRetries = 3

// write runs fn as a unit of work, again if another node took the place.
func (b *Bindings) write(ctx context.Context, fn func(tx *store.Tx) error) error {
	var err error
	for range placeRetries {
		if err = b.o.DB.Write(ctx, fn); !errors.Is(err, store.ErrPlaceTaken) {
			break
		}
	}
	return err
}

// latestRun returns the newest run of a session, a zero run if it has none.
func latestRun(tx *store.Tx, session int64) (core.Run, error) {
	run, err := tx.LatestRunOfSession(session)
	if errors.Is(err, store.ErrNotFound) {
		return core.Run{}, nil
	}
	return run, err
}
