package store_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core/store"
)

// Environment of a test binary that plays a second process.
const (
	childRole  = "SKEIN_STORE_TEST_ROLE"
	childStore = "SKEIN_STORE_TEST_PATH"
)

// playChild is the second process; it returns the exit code.
func playChild(role string) int {
	db, err := tryOpen(store.Options{Path: os.Getenv(childStore)})
	if err != nil {
		fmt.Println(err)
		return 1
	}
	switch role {
	case "hold": // keeps the store open until standard input ends
		fmt.Println("open")
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "hammer": // writes until it is killed, and says what is durable
		hammer(db)
	}
	if err := db.Close(); err != nil {
		fmt.Println(err)
		return 1
	}
	return 0
}

// hammer writes rows from many goroutines and prints the key of each once the
// store has said that it is durable.
func hammer(db *store.DB) {
	var mu sync.Mutex
	var wg sync.WaitGroup
	for g := range 8 {
		wg.Go(func() {
			for i := range 1_000_000 {
				key := fmt.Sprintf("%d/%d/%d", os.Getpid(), g, i)
				if err := db.Write(context.Background(), claim(key)); err != nil {
					return
				}
				mu.Lock()
				fmt.Println(key)
				mu.Unlock()
			}
		})
	}
	wg.Wait()
}

// claim is a unit with one visible effect.
func claim(key string) func(tx *store.Tx) error {
	return func(tx *store.Tx) error {
		fresh, err := tx.InsertDedupe(key, 1)
		if err == nil && !fresh {
			err = errClaimed
		}
		return err
	}
}

type claimedError struct{}

// Error says that a key was taken before.
func (claimedError) Error() string { return "claimed before" }

var errClaimed error = claimedError{}

// child is a running second process.
type child struct {
	t     *testing.T
	cmd   *exec.Cmd
	lines *bufio.Scanner
	input io.Closer
}

// startChild starts the test binary in a role on the store at path.
func startChild(t *testing.T, role, path string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childRole+"="+role, childStore+"="+path)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	c := &child{t: t, cmd: cmd, lines: bufio.NewScanner(out), input: in}
	t.Cleanup(c.kill)
	return c
}

// line returns the next line of the child, "" at the end of its output.
func (c *child) line() string {
	c.lines.Scan()
	return c.lines.Text()
}

// kill ends the child with SIGKILL and waits for it; again it does nothing.
func (c *child) kill() {
	if c.cmd.ProcessState == nil {
		_ = c.cmd.Process.Kill()
		_ = c.cmd.Wait()
	}
}

// leave lets the child end by itself.
func (c *child) leave() {
	c.t.Helper()
	require.NoError(c.t, c.input.Close())
	require.NoError(c.t, c.cmd.Wait())
}

// TestKill: every unit that the store said is durable is there after kill -9.
func TestKill(t *testing.T) {
	path := t.TempDir() + "/skein.db"
	acked := map[string]bool{}
	for range 3 {
		c := startChild(t, "hammer", path)
		for range 300 {
			line := c.line()
			require.Equal(t, 2, strings.Count(line, "/"), line)
			acked[line] = true
		}
		require.NoError(t, c.cmd.Process.Kill())
		for key := c.line(); key != ""; key = c.line() { // what it still said
			acked[key] = true
		}
		require.Error(t, c.cmd.Wait())
	}
	db := open(t, store.Options{Path: path})
	for key := range acked {
		if strings.Count(key, "/") == 2 { // the last line may be cut
			require.ErrorIs(t, db.Write(t.Context(), claim(key)), errClaimed, key)
		}
	}
}
