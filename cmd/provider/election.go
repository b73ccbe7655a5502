package main

import (
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/crossplane/crossplane-runtime/v2/pkg/logging"
	"github.com/pkg/errors"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"

	"github.com/crossplane-contrib/provider-kcp/internal/fence"
	"github.com/crossplane-contrib/provider-kcp/internal/slot"
)

// leaderElectionID is the default name of the Lease. provider-kubernetes uses the same name, so that the two providers
// never reconcile the same Objects at the same time.
const leaderElectionID = "crossplane-leader-election-provider-kubernetes"

// election are the settings of the leader election.
type election struct {
	enabled       bool
	id            string // name of the Lease
	shards        int    // how many replicas work at a time
	leaseDuration time.Duration
	renewDeadline time.Duration
	retryPeriod   time.Duration
}

func (e *election) addTo(app *kingpin.Application) {
	app.Flag("leader-election", "Elect a leader. Several replicas require it.").
		Short('l').Envar("LEADER_ELECTION").BoolVar(&e.enabled)
	app.Flag("leader-election-id",
		"Name of the Lease. Each provider in a namespace needs its own.").
		Default(leaderElectionID).StringVar(&e.id)
	app.Flag("shards",
		"Number of replicas that share the work by ProviderConfig. More than one requires --leader-election.").
		Default("1").IntVar(&e.shards)
	app.Flag("leader-election-lease-duration",
		"Time after which another replica acquires a Lease that is not renewed. Whole seconds.").
		Default("15s").DurationVar(&e.leaseDuration)
	app.Flag("leader-election-renew-deadline",
		"Time for which a leader tries to renew its Lease before it stops. Less than the lease duration.").
		Default("10s").DurationVar(&e.renewDeadline)
	app.Flag("leader-election-retry-period",
		"Interval between attempts to acquire the Lease. A leader renews it at most eight times in its duration.").
		Default("500ms").DurationVar(&e.retryPeriod)
}

// A candidate is this replica in the leader election. Both fields are nil without one.
type candidate struct {
	lock  resourcelock.Interface
	fence *fence.Fence
	slots *slot.Slots // nil if one replica does all the work
}

// candidate returns this replica as a candidate, with a Lease in a namespace of the control plane.
func (e *election) candidate(cfg *rest.Config, namespace string, log logging.Logger) (candidate, error) {
	if e.shards < 1 || e.shards > 1 && !e.enabled {
		return candidate{}, errors.New("--shards must be 1 or more, and more than 1 need --leader-election")
	}
	if !e.enabled {
		return candidate{}, nil
	}
	if e.leaseDuration%time.Second != 0 {
		return candidate{}, errors.New("--leader-election-lease-duration must be in whole seconds")
	}
	if wrong := validation.IsDNS1123Subdomain(e.id); len(wrong) > 0 {
		return candidate{}, errors.Errorf("--leader-election-id: %s", strings.Join(wrong, "; "))
	}
	lock, err := e.lock(cfg, namespace)
	if err != nil {
		return candidate{}, errors.Wrap(err, "cannot prepare leader election")
	}
	f := fence.New(func(reason string) {
		log.Info("This replica has lost its Lease and stops at once", "reason", reason)
		os.Exit(1)
	})
	lock.Log = log
	slots := slot.New(e.shards)
	return candidate{lock: f.Lock(slot.NewLock(slots, lock)), fence: f, slots: slots}, nil
}

// lock describes the lock that controller-runtime would make, which it does only for itself.
func (e *election) lock(cfg *rest.Config, namespace string) (slot.Options, error) {
	host, err := os.Hostname()
	if err != nil {
		return slot.Options{}, err
	}
	cfg = rest.AddUserAgent(rest.CopyConfig(cfg), "leader-election")
	cfg.Timeout = max(e.renewDeadline/2, time.Second)
	leases, err := coordinationclient.NewForConfig(cfg)
	if err != nil {
		return slot.Options{}, err
	}
	return slot.Options{
		Client: leases, Namespace: namespace, ID: e.id,
		Config: resourcelock.ResourceLockConfig{Identity: host + "_" + string(uuid.NewUUID())},
	}, nil
}
