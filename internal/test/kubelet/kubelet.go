// Package kubelet plays the kubelet for pods of the provider, on a control plane whose nodes are played by KWOK. It is
// for _test.go files only.
//
// KWOK says that a pod is ready. What its container would do is done by the program unpacked from the image that the
// pod names. It sees the files of the image, the volumes of the pod and nothing else, runs as the user of the pod, and
// has its environment and the token of its ServiceAccount. What differs: it shares the network of the machine, so that
// its ports are chosen for it. Only root may give a program other files and another user.
package kubelet

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/pkg/errors"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/crossplane-contrib/provider-kcp/cluster/e2e/provider"
	"github.com/crossplane-contrib/provider-kcp/internal/test/kube"
)

const (
	node = "kwok"
	// look is the pause between two looks at pods.
	look = 100 * time.Millisecond
)

// A Kubelet runs the pods of a namespace: it starts the program of a pod that appears, and stops that of a pod that
// goes.
type Kubelet struct {
	t         testing.TB
	c         client.Client
	cfg       *rest.Config
	namespace string
	logs      string // folder, with one for each pod

	mu      sync.Mutex
	running map[types.UID]*provider.Process
	ended   map[types.UID]bool // by themselves, which is told once, or may be
}

// Start runs the pods of a namespace of a server until the test ends. It may be called once for each server.
func Start(t testing.TB, s *kube.Server, namespace string) *Kubelet {
	t.Helper()
	k := &Kubelet{
		t: t, c: s.Client(t), cfg: s.Config(), namespace: namespace, logs: t.TempDir(),
		running: map[types.UID]*provider.Process{}, ended: map[types.UID]bool{},
	}
	kube.Create(t, k.c, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: node}})
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := k.sync(ctx); err != nil && ctx.Err() == nil {
				t.Errorf("kubelet: %v", err)
				return
			}
			time.Sleep(look)
		}
	}()
	t.Cleanup(func() {
		cancel()
		<-done
		for _, p := range k.running {
			p.Kill()
			kube.ShowLog(t, "a provider", p.Log())
		}
	})
	return k
}

// sync looks at all pods once.
func (k *Kubelet) sync(ctx context.Context) error {
	pods := &corev1.PodList{}
	if err := k.c.List(ctx, pods, client.InNamespace(k.namespace)); err != nil {
		return errors.Wrap(err, "cannot list pods")
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var alive []types.UID
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.GetDeletionTimestamp() != nil {
			continue
		}
		alive = append(alive, p.GetUID())
		if err := k.run(ctx, p); err != nil {
			return err
		}
	}
	for uid, process := range k.running {
		if slices.Contains(alive, uid) {
			continue
		}
		delete(k.running, uid)
		// A manager that is stopped while its caches fill waits in vain until it is killed: controller-runtime v0.24.1,
		// pkg/manager/runnable_group.go. The test goes on after another error, as what the other pods do may tell why.
		if err := process.Stop(); err != nil && !k.ended[uid] && strings.Contains(process.Log(), "leader lease") {
			k.t.Errorf("kubelet: %v", err)
			kube.ShowLog(k.t, "a provider", process.Log())
		}
	}
	return nil
}

// run gives a pod a node, and starts its program if it does not run.
func (k *Kubelet) run(ctx context.Context, p *corev1.Pod) error {
	if p.Spec.NodeName == "" {
		b := &corev1.Binding{Target: corev1.ObjectReference{Kind: "Node", Name: node}}
		err := k.c.SubResource("binding").Create(ctx, p, b)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) { // It has gone, or goes.
			return nil
		}
		return errors.Wrap(err, "cannot bind pod")
	}
	if running := k.running[p.GetUID()]; running != nil {
		select {
		case <-running.Exited():
			switch {
			case isFormer(p):
				delete(k.running, p.GetUID()) // It starts again.
			case !k.ended[p.GetUID()]:
				k.ended[p.GetUID()] = true
				k.t.Errorf("a provider has ended with %d", running.ExitCode())
			}
		default:
		}
		return nil
	}
	root, err := os.MkdirTemp("", "pod-")
	if err != nil {
		return errors.Wrap(err, "cannot make root of pod")
	}
	k.t.Cleanup(func() { _ = os.RemoveAll(root) })
	if err := os.Chmod(root, 0o755); err != nil {
		return errors.Wrap(err, "cannot open root of pod")
	}
	if err := k.mount(ctx, p, root); err != nil {
		// A pod waits for what its volumes need. What it needs may be gone before the pod when a chart is uninstalled.
		return client.IgnoreNotFound(err)
	}
	container := p.Spec.Containers[0]
	image, err := k.unpack(ctx, p, root)
	if err != nil {
		return err
	}
	entrypoint := image.Entrypoint[0]
	user, err := user(p, image)
	if err != nil {
		return err
	}
	// The one file of /proc that the provider reads: which program it is.
	self := filepath.Join(root, "proc", "self")
	if err := errors.Wrap(os.MkdirAll(self, 0o755), "cannot make /proc"); err != nil {
		return err
	}
	if err := os.Symlink(entrypoint, filepath.Join(self, "exe")); err != nil {
		return errors.Wrap(err, "cannot name the program in /proc")
	}
	host, port, _ := strings.Cut(strings.TrimPrefix(k.cfg.Host, "https://"), ":")
	process, err := provider.Start(provider.Options{
		Binary: entrypoint, Dir: filepath.Join(k.logs, string(p.GetUID())), Args: append(container.Args, "--debug"),
		Env:       append(environment(p), "KUBERNETES_SERVICE_HOST="+host, "KUBERNETES_SERVICE_PORT="+port),
		Container: &provider.Container{Root: root, User: user},
	})
	if err != nil {
		return err
	}
	k.running[p.GetUID()] = process
	k.ended[p.GetUID()] = isFormer(p)
	return nil
}

// isFormer reports whether a pod is of provider-kubernetes, which ends if Crossplane has not granted its permissions
// yet.
func isFormer(p *corev1.Pod) bool {
	return strings.Contains(p.Spec.Containers[0].Image, "/provider-kubernetes:")
}

// Processes returns how many programs run.
func (k *Kubelet) Processes() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.running)
}

// user returns the user of a container: that of its security context, that of its pod, or that of its image.
func user(p *corev1.Pod, image v1.Config) (uint32, error) {
	if c := p.Spec.Containers[0].SecurityContext; c != nil && c.RunAsUser != nil {
		return uint32(*c.RunAsUser), nil
	}
	if c := p.Spec.SecurityContext; c != nil && c.RunAsUser != nil {
		return uint32(*c.RunAsUser), nil
	}
	id, _, _ := strings.Cut(image.User, ":")
	n, err := strconv.ParseUint(id, 10, 32)
	return uint32(n), errors.Wrap(err, "cannot see that the user of the image is not root")
}

// mount writes the volumes of a pod.
func (k *Kubelet) mount(ctx context.Context, p *corev1.Pod, root string) error {
	for _, m := range p.Spec.Containers[0].VolumeMounts {
		i := slices.IndexFunc(p.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == m.Name })
		content, err := k.volume(ctx, p, &p.Spec.Volumes[i])
		if err != nil {
			return err
		}
		dir := filepath.Join(root, m.MountPath)
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return errors.Wrap(err, "cannot make volume")
		}
		for name, b := range content {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				return errors.Wrap(err, "cannot write volume")
			}
		}
	}
	return nil
}

// volume returns the files of a volume: of a Secret, or of the identity of a pod.
func (k *Kubelet) volume(ctx context.Context, p *corev1.Pod, v *corev1.Volume) (map[string][]byte, error) {
	key := client.ObjectKey{Namespace: p.GetNamespace()}
	if v.Secret != nil {
		s := &corev1.Secret{}
		key.Name = v.Secret.SecretName
		err := k.c.Get(ctx, key, s)
		return s.Data, errors.Wrap(err, "cannot get Secret of volume")
	}
	token := &authenticationv1.TokenRequest{}
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{
		Namespace: p.GetNamespace(), Name: p.Spec.ServiceAccountName,
	}}
	if err := k.c.SubResource("token").Create(ctx, account, token); err != nil {
		return nil, errors.Wrap(err, "cannot make token")
	}
	return map[string][]byte{
		"token": []byte(token.Status.Token), "namespace": []byte(p.GetNamespace()), "ca.crt": k.cfg.CAData,
	}, nil
}

// environment returns the variables of a container.
func environment(p *corev1.Pod) []string {
	var known []string // pairs of $(name) and value
	var all []string
	for _, e := range p.Spec.Containers[0].Env {
		v := strings.NewReplacer(known...).Replace(e.Value)
		if e.ValueFrom != nil {
			v = field(p, e.ValueFrom.FieldRef.FieldPath)
		}
		known = append(known, "$("+e.Name+")", v)
		all = append(all, e.Name+"="+v)
	}
	return all
}

// field returns what a variable says of its pod.
func field(p *corev1.Pod, path string) string {
	if path == "metadata.namespace" {
		return p.GetNamespace()
	}
	label, err := strconv.Unquote(strings.ReplaceAll(strings.TrimSuffix(strings.TrimPrefix(path, "metadata.labels["),
		"]"), "'", `"`))
	if err != nil {
		panic("a field no package has used yet: " + path)
	}
	return p.GetLabels()[label]
}
