package configs_test

import (
	"testing"

	"waybill/configs"
)

func TestConnectionsAreSharedOutToTheLast(t *testing.T) {
	t.Parallel()
	for all := 8; all <= 500; all++ {
		c := configs.ConnectionsOf(all)
		shares := []int{c.Live, c.LiveLists, c.Sandbox, c.SandboxLists, c.Background, c.BackgroundLists}
		sum := 0
		for _, n := range shares {
			sum += n
		}
		if sum != all || min(c.Live, c.Sandbox, c.Background) < 2 || min(c.LiveLists, c.SandboxLists) < 1 || c.Live < c.Sandbox {
			t.Errorf("of %d: %+v", all, c)
		}
	}
	described := configs.Connections{Live: 9, LiveLists: 3, Sandbox: 4, SandboxLists: 2, Background: 4, BackgroundLists: 2}
	if c := configs.ConnectionsOf(24); c != described {
		t.Errorf("the setting's description is wrong: %+v", c)
	}
}
