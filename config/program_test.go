package config_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/config"
	"github.com/skein-bot/skein/core/clock"
)

// uncounted is for a clock whose work nobody waits for.
type uncounted struct{}

func (uncounted) Add(int) {}

// TestAProgramHasTenSeconds, by the injected clock; then it is killed.
func TestAProgramHasTenSeconds(t *testing.T) {
	dir := t.TempDir()
	script := filepath.Join(dir, "forever")
	require.NoError(t, os.WriteFile(script, []byte("#!/bin/sh\nexec sleep 100000\n"), 0o700)) // #nosec G306 -- a program
	c, _, err := config.Parse("<test>", fmt.Appendf(nil, `{ models: { providers: { p: { type: "openai", apiKey: { source: "exec", id: %q } } } } }`, script), config.Options{})
	require.NoError(t, err)
	virtual := clock.NewVirtual(time.Unix(0, 0), uncounted{})
	resolved := make(chan error, 1)
	go func() { resolved <- c.ResolveSecrets(config.Options{Clock: virtual}) }()
	var due time.Time
	require.Eventually(t, func() (waits bool) {
		due, waits = virtual.Next()
		return waits
	}, 10*time.Second, time.Millisecond)
	require.Equal(t, 10*time.Second, due.Sub(virtual.Now()))
	virtual.AdvanceTo(due.Add(-time.Nanosecond))
	select {
	case err := <-resolved:
		require.FailNow(t, "it was not given its time", "%v", err)
	default:
	}
	virtual.AdvanceTo(due)
	require.ErrorContains(t, <-resolved, "failed: it did not end within 10s")
	require.Empty(t, c.Models.Providers["p"].APIKey.Reveal())
}

// TestProgramsRunFourAtOnce, and each once, however many keys name it.
func TestProgramsRunFourAtOnce(t *testing.T) {
	var providers strings.Builder
	for i := range 12 {
		fmt.Fprintf(&providers, `p%d: { type: "openai", apiKey: { source: "exec", id: "show %d" } },`, i, i/2)
	}
	c, _, err := config.Parse("<test>", []byte(`{ models: { providers: {`+providers.String()+`} } }`), config.Options{})
	require.NoError(t, err)
	var running, most, runs atomic.Int32
	var four sync.WaitGroup
	four.Add(4)
	var first atomic.Int32
	err = c.ResolveSecrets(config.Options{RunProgram: func(line string) ([]byte, error) {
		runs.Add(1)
		now := running.Add(1)
		for seen := most.Load(); now > seen && !most.CompareAndSwap(seen, now); seen = most.Load() {
		}
		if first.Add(1) <= 4 { // all of the first four are there before one of them ends
			four.Done()
			four.Wait()
		}
		running.Add(-1)
		return []byte("key of " + line + "\n"), nil
	}})
	require.NoError(t, err)
	require.EqualValues(t, 6, runs.Load())
	require.EqualValues(t, 4, most.Load())
	require.Equal(t, "key of show 5", c.Models.Providers["p11"].APIKey.Reveal())
}
