package delivery_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/clock"
	"github.com/skein-bot/skein/core/delivery"
	"github.com/skein-bot/skein/core/store"
	"github.com/skein-bot/skein/core/world"
)

// printer is an adapter that prints.
type printer struct{}

func (*printer) Describe() core.Capabilities            { return core.Capabilities{NativeIdempotency: true} }
func (*printer) Run(context.Context, core.Intake) error { return nil }
func (*printer) Probe(context.Context) core.Health      { return core.Health{OK: true} }
func (*printer) Send(_ context.Context, out core.Outgoing) (core.Receipt, error) {
	fmt.Printf("to %s: %s\n", out.Address, out.Text)
	return core.Receipt{ID: "1"}, nil
}

func Example() {
	dir, err := os.MkdirTemp("", "skein")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	ctx := context.Background()
	w := world.New(clock.Real{}, nil, 1)
	db, err := store.Open(ctx, store.Options{Path: filepath.Join(dir, "skein.db"), World: w})
	if err != nil {
		panic(err)
	}
	defer func() { _ = db.Close() }()

	out := delivery.New(delivery.Options{DB: db, World: w, Log: slog.New(slog.DiscardHandler), Instance: "example"})
	out.Start([]delivery.Account{{Channel: "console", ID: "default", Adapter: new(printer)}})

	// The message belongs to the transaction of what caused it.
	err = db.Write(ctx, func(tx *store.Tx) error {
		_, _, err := out.Post(tx, store.Outbox{
			Kind:    store.OutFinal,
			OnceKey: "turn:1",
			Address: core.Address{Channel: "console", Account: "default", Conversation: "main"},
			Text:    "<think>They say hello.</think>\nHello!",
		})
		return err
	})
	if err != nil {
		panic(err)
	}
	if err := w.Work.Zero(ctx); err != nil { // everything that was due is done
		panic(err)
	}
	out.Stop(ctx)
	// Output: to console:default:main: Hello!
}
