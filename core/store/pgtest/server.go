// Package pgtest gives tests a PostgreSQL: a server that it starts from the
// installed packages, or the one that SKEIN_TEST_POSTGRES names, and in it an
// empty database for each test.
//
//	url, ok := pgtest.Database(t)
//	if !ok {
//		return // none is installed; where CI is set that is a failure
//	}
package pgtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"

	"github.com/skein-bot/skein/core/clock"
)

// Server is a PostgreSQL server in a folder of its own, on loopback, without a
// password. It belongs to who started it.
type Server struct {
	dir  string
	port int
	cmd  *exec.Cmd
	log  bytes.Buffer
	done chan error
}

// Settings choose how a server runs.
type Settings struct {
	// Durable has each commit wait for the disk, as a real server does; else a
	// test is faster and a crash of the machine loses it.
	Durable bool
}

// ErrNotInstalled says that there is no PostgreSQL on this machine.
var ErrNotInstalled = errors.New("PostgreSQL is not installed (apt-get install postgresql)")

// programs finds the folder of initdb and postgres, the newest version first.
func programs() (string, error) {
	dirs, err := filepath.Glob("/usr/lib/postgresql/*/bin")
	if err != nil {
		return "", err
	}
	version := func(dir string) int {
		n, _ := strconv.Atoi(filepath.Base(filepath.Dir(dir)))
		return n
	}
	slices.SortFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	for _, dir := range append(dirs, filepath.SplitList(os.Getenv("PATH"))...) {
		if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err == nil {
			if _, err := exec.LookPath(filepath.Join(dir, "postgres")); err == nil {
				return dir, nil
			}
		}
	}
	return "", ErrNotInstalled
}

// account is who the server runs as: it refuses to run as root.
func account() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	u, err := user.Lookup("postgres")
	if err != nil {
		return nil, fmt.Errorf("%w: root needs the account it comes with: %w", ErrNotInstalled, err)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, err
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, err
	}
	return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
}

// Start makes and starts a server; it takes a few seconds. Stop it.
func Start(ctx context.Context, o Settings) (*Server, error) {
	bin, err := programs()
	if err != nil {
		return nil, err
	}
	who, err := account()
	if err != nil {
		return nil, err
	}
	s := &Server{done: make(chan error, 1)}
	if s.dir, err = os.MkdirTemp("", "skein-postgres-"); err != nil {
		return nil, err
	}
	if err := s.start(ctx, bin, who, o); err != nil {
		s.Stop()
		return nil, err
	}
	return s, nil
}

func (s *Server) start(ctx context.Context, bin string, who *syscall.Credential, o Settings) error {
	attr := &syscall.SysProcAttr{Credential: who, Setpgid: true}
	if who != nil {
		if err := os.Chown(s.dir, int(who.Uid), int(who.Gid)); err != nil {
			return err
		}
	}
	data := filepath.Join(s.dir, "data")
	initdb := exec.CommandContext(ctx, filepath.Join(bin, "initdb"), "-D", data, "-A", "trust", "-U", "skein", "-E", "UTF8", "--locale=C.UTF-8", "-N")
	initdb.SysProcAttr, initdb.Dir = attr, s.dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	var err error
	if s.port, err = freePort(ctx); err != nil {
		return err
	}
	args := []string{"-D", data, "-p", strconv.Itoa(s.port), "-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories=",
		"-c", "max_connections=300", "-c", "shared_buffers=128MB"}
	if !o.Durable {
		args = append(args, "-c", "wal_level=minimal", "-c", "max_wal_senders=0", "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	s.cmd = exec.Command(filepath.Join(bin, "postgres"), args...) //nolint:gosec // the folder is one of the system's
	s.cmd.SysProcAttr, s.cmd.Dir, s.cmd.Stderr, s.cmd.Stdout = attr, s.dir, &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		return err
	}
	go func() { s.done <- s.cmd.Wait() }()
	return s.await(ctx)
}

// await waits until the server answers.
func (s *Server) await(ctx context.Context) error {
	for {
		conn, err := pgx.Connect(ctx, s.URL("postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case ended := <-s.done:
			s.done <- ended
			return fmt.Errorf("the server ended: %w: %s", ended, s.log.String())
		default:
		}
		if err := (clock.Real{}).Sleep(ctx, startPoll); err != nil {
			return err
		}
	}
}

// URL is the address of a database of the server.
func (s *Server) URL(database string) string {
	return fmt.Sprintf("postgres://skein@127.0.0.1:%d/%s?sslmode=disable", s.port, database)
}

// Stop ends the server at once and removes what it kept.
func (s *Server) Stop() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Signal(syscall.SIGQUIT)
		<-s.done //nolint:errcheck // it was told to end
	}
	_ = os.RemoveAll(s.dir)
}

func freePort(ctx context.Context) (int, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	defer l.Close() //nolint:errcheck // the port was all that was wanted
	_, port, _ := strings.Cut(l.Addr().String(), ":")
	return strconv.Atoi(port)
}
