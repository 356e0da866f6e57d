package app

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"github.com/skein-bot/skein/core"
)

// SocketName is the name of the socket in the state folder.
const SocketName = "skein.sock"

// maxSocketPath is the longest path of a unix socket in bytes, on the system
// with the shortest.
const maxSocketPath = 103

// Socket is the unix socket of a gateway. Only its owner can open it. While it
// lives no other gateway can have the same state folder: a lock beside it,
// which the system drops with the process, says so, and what a dead process
// left is replaced.
type Socket struct {
	*net.UnixListener
	path string
	lock *os.File
	once sync.Once
}

// ListenSocket opens the socket of a state folder, and makes the folder (0700)
// if it is missing. The error is a *core.Error: gateway_running where another
// process serves the folder, socket_path where no socket can be there.
func ListenSocket(stateDir string) (*Socket, error) {
	if err := os.MkdirAll(stateDir, 0o700); err != nil {
		return nil, socketError("gateway_state", err, "the state folder %s cannot be made", stateDir).
			WithRemedy("make it writable, or set gateway.stateDir")
	}
	path := filepath.Join(stateDir, SocketName)
	lock, err := lockSocket(path)
	if err != nil {
		return nil, err
	}
	l, err := listenPrivately(stateDir, path)
	if err != nil {
		return nil, errors.Join(err, lock.Close())
	}
	return &Socket{UnixListener: l, path: path, lock: lock}, nil
}

// Path returns where the socket is.
func (s *Socket) Path() string { return s.path }

// Close takes no more connections, removes the socket and frees the folder. A
// second Close does nothing.
func (s *Socket) Close() (err error) {
	s.once.Do(func() {
		err = errors.Join(s.UnixListener.Close(), os.Remove(s.path), s.lock.Close())
	})
	return err
}

// lockSocket takes the lock of a socket and writes who has it.
func lockSocket(path string) (*os.File, error) {
	f, err := os.OpenFile(path+".lock", os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, socketError("gateway_state", err, "the state folder %s cannot be written", filepath.Dir(path)).
			WithRemedy("make it writable, or set gateway.stateDir")
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		holder, _ := io.ReadAll(io.LimitReader(f, 100))
		_ = f.Close()
		who := strings.TrimSpace(string(holder))
		if who == "" {
			who = "another process"
		}
		return nil, core.Errorf("gateway_running", "a gateway is running already for %s: %s", filepath.Dir(path), who).
			WithRemedy("stop it first, or give this one another store.url or gateway.stateDir")
	}
	if err := f.Truncate(0); err == nil {
		_, _ = fmt.Fprintf(f, "process %d\n", os.Getpid())
	}
	return f, nil
}

// listenPrivately opens the socket in a folder that only the owner can enter
// and moves it to its place when its own mode is right, so that there is no
// moment at which others could open it. The move replaces a dead socket; a file
// of another kind stays.
func listenPrivately(stateDir, path string) (*net.UnixListener, error) {
	if info, err := os.Lstat(path); err == nil && info.Mode()&os.ModeSocket == 0 {
		return nil, core.Errorf("socket_path", "%s is no socket", path).WithRemedy("move it away, or set gateway.stateDir")
	}
	dir, err := os.MkdirTemp(stateDir, ".s")
	if err != nil {
		return nil, socketError("gateway_state", err, "the state folder %s cannot be written", stateDir).
			WithRemedy("make it writable, or set gateway.stateDir")
	}
	defer os.RemoveAll(dir) //nolint:errcheck // an empty folder that stays is in nobody's way
	private := filepath.Join(dir, "s")
	if len(private) > maxSocketPath || len(path) > maxSocketPath {
		return nil, core.Errorf("socket_path", "the path %s is too long for a socket", path).
			WithRemedy("set gateway.stateDir to a shorter path")
	}
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: private, Net: "unix"})
	if err != nil {
		return nil, socketError("socket_path", err, "no socket can be opened in %s", stateDir).WithRemedy("set gateway.stateDir to another folder")
	}
	l.SetUnlinkOnClose(false)
	if err := errors.Join(os.Chmod(private, 0o600), os.Rename(private, path)); err != nil {
		return nil, errors.Join(socketError("socket_path", err, "the socket %s cannot be put in its place", path), l.Close())
	}
	return l, nil
}

func socketError(code string, err error, format string, args ...any) *core.Error {
	e := core.Errorf(code, format, args...)
	e.Err = err
	return e
}
