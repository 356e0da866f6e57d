package app_test

import (
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/skein-bot/skein/core"
	"github.com/skein-bot/skein/core/app"
)

func TestSocketIsPrivate(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	s, err := app.ListenSocket(dir)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "skein.sock"), s.Path())

	for path, mode := range map[string]os.FileMode{dir: 0o700 | os.ModeDir, s.Path(): 0o600 | os.ModeSocket} {
		info, err := os.Stat(path)
		require.NoError(t, err)
		require.Equal(t, mode, info.Mode(), path)
	}
	accepted := make(chan error, 1)
	go func() {
		conn, err := s.Accept()
		if err == nil {
			err = conn.Close()
		}
		accepted <- err
	}()
	conn, err := net.Dial("unix", s.Path())
	require.NoError(t, err)
	require.NoError(t, <-accepted)
	require.NoError(t, conn.Close())

	require.NoError(t, s.Close())
	require.NoError(t, s.Close(), "closing twice is harmless")
	require.NoFileExists(t, s.Path())
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, entries, 1, "only the lock file stays")
}

func TestSocketOfOneGateway(t *testing.T) {
	dir := t.TempDir()
	first, err := app.ListenSocket(dir)
	require.NoError(t, err)
	_, err = app.ListenSocket(dir)
	require.Equal(t, "gateway_running", core.ErrorCode(err))
	require.ErrorContains(t, err, "process "+strconv.Itoa(os.Getpid()))
	require.NoError(t, first.Close())

	next, err := app.ListenSocket(dir)
	require.NoError(t, err)
	require.NoError(t, next.Close())
}

func TestSocketReplacesADeadOne(t *testing.T) {
	dir := t.TempDir()
	dead, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, app.SocketName), Net: "unix"})
	require.NoError(t, err)
	dead.SetUnlinkOnClose(false)
	require.NoError(t, dead.Close())

	s, err := app.ListenSocket(dir)
	require.NoError(t, err)
	require.NoError(t, s.Close())
}

func TestSocketRefusals(t *testing.T) {
	file := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(file, app.SocketName), []byte("precious"), 0o600))
	noFolder := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(noFolder, nil, 0o600))
	for _, c := range []struct{ name, dir, code string }{
		{"another file in its place", file, "socket_path"},
		{"a path that is too long", filepath.Join(t.TempDir(), strings.Repeat("x", 120)), "socket_path"},
		{"no folder", filepath.Join(noFolder, "state"), "gateway_state"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := app.ListenSocket(c.dir)
			require.Equal(t, c.code, core.ErrorCode(err), "%v", err)
		})
	}
	require.FileExists(t, filepath.Join(file, app.SocketName))
}
