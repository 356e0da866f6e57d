package convtest

import (
	"context"
	"fmt"

	"github.com/skein-bot/skein/core/world"
)

// start starts the runtime. If a crash point cuts the world meanwhile it is
// down afterwards, or started again where that was the random kill.
func (s *stage) start() error {
	for {
		err := s.startOnce()
		point, random := s.watch.hit()
		if point == "" {
			if err != nil {
				err = fmt.Errorf("the runtime does not start: %w", err)
			}
			return err
		}
		if err := s.end(); err != nil {
			return err
		}
		s.onLife("killed at " + point)
		if !random {
			return nil
		}
	}
}

func (s *stage) startOnce() error {
	s.lives++
	w := world.New(s.clock, s.work, s.seed+uint64(s.lives)<<32) // each life has ids of its own
	s.crash = s.watch.attach(w)
	made, err := s.make(w)
	if err != nil {
		return err
	}
	s.app = made
	for _, server := range s.servers {
		server.Up()
	}
	err = s.hold("the start", made.Start)
	if point, _ := s.watch.hit(); err != nil && point == "" {
		return s.failed(err)
	}
	return err
}

// failed takes a runtime down whose start failed.
func (s *stage) failed(err error) error {
	if killErr := s.kill(); killErr != nil {
		return killErr
	}
	return err
}

// collapse ends the runtime after a crash point cut its world, and starts it
// again if that was the random kill.
func (s *stage) collapse(point string, random bool) error {
	if err := s.end(); err != nil {
		return err
	}
	s.onLife("killed at " + point)
	if !random {
		return nil
	}
	if err := s.start(); err != nil {
		return err
	}
	s.onLife("start")
	return nil
}

// kill cuts the world now.
func (s *stage) kill() error {
	if s.app == nil {
		return nil
	}
	return s.end()
}

// end waits until nothing of the runtime is left.
func (s *stage) end() error {
	if s.app != nil {
		ctx, cancel := s.patient(context.Background())
		gone := make(chan struct{})
		go func() {
			defer close(gone)
			s.app.Kill()
		}()
		select {
		case <-gone:
		case <-ctx.Done():
		}
		late := ctx.Err() != nil
		cancel()
		if late {
			return s.stuck("a killed runtime does not end")
		}
	}
	return s.down()
}

// stop ends the runtime gracefully.
func (s *stage) stop() error {
	err := s.drive("the graceful stop", s.app.Stop)
	if point, _ := s.watch.hit(); point != "" {
		if err := s.end(); err != nil {
			return err
		}
		s.onLife("killed at " + point)
		return nil // whoever stops a runtime starts it again
	}
	if err != nil {
		return fmt.Errorf("the graceful stop: %w", err)
	}
	return s.down()
}

// down tells the servers that the runtime is gone, which must have left no work
// behind.
func (s *stage) down() error {
	s.app = nil
	for _, server := range s.servers {
		server.Down()
	}
	s.watch.detach()
	s.crash = context.Background()
	ctx, cancel := s.patient(context.Background())
	defer cancel()
	if s.work.Zero(ctx) != nil {
		return s.stuck("the runtime has ended, but its work does not")
	}
	return nil
}
