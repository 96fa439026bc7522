{{/* The labels of every object of the chart. Takes the root and, for an object of one program, its component. */}}
{{- define "agentpods.labels" -}}
{{ include "agentpods.selector" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version }}
{{- end }}

{{/* The labels by which pods are found. They never change, because the selector of a Deployment cannot change. */}}
{{- define "agentpods.selector" -}}
app.kubernetes.io/name: agentpods
app.kubernetes.io/instance: {{ .root.Release.Name }}
{{- with .component }}
app.kubernetes.io/component: {{ . }}
{{- end }}
{{- end }}

{{/* The name of cluster-wide objects, for two releases with the same name in different namespaces. Workers find their
role by it. */}}
{{- define "agentpods.clusterName" -}}
{{ printf "%s-%s" .Release.Namespace .Release.Name | trimPrefix "-" }}
{{- end }}

{{/* The label value that marks the objects of this installation. */}}
{{- define "agentpods.installation" -}}
{{- default "agentpods" (get .Values.env "INSTALLATION") -}}
{{- end }}

{{- define "agentpods.image" -}}
{{- $image := .Values.image -}}
{{- if $image.digest -}}
{{ printf "%s@%s" $image.repository $image.digest }}
{{- else -}}
{{ printf "%s:%s" $image.repository (default .Chart.AppVersion $image.tag) }}
{{- end -}}
{{- end }}

{{/* `pi=registry/image:tag,…`, sorted by name. */}}
{{- define "agentpods.engineImages" -}}
{{- $pairs := list -}}
{{- range $engine, $image := .Values.engineImages -}}
{{- $pairs = append $pairs (printf "%s=%s" $engine $image) -}}
{{- end -}}
{{- join "," $pairs -}}
{{- end }}

{{- define "agentpods.secretName" -}}
{{- default (printf "%s-settings" .Release.Name) .Values.secret.existing -}}
{{- end }}

{{/* The secrets made from values, each in base64. */}}
{{- define "agentpods.secretData" -}}
{{- range $name, $value := .Values.secret.values }}
{{ $name }}: {{ $value | b64enc | quote }}
{{- end }}
{{- end }}

{{/* The metadata of a pod. The pod restarts when secrets made from values change; with your own Secret, restart it
yourself. */}}
{{- define "agentpods.podMetadata" -}}
labels:
  {{- include "agentpods.labels" . | nindent 2 }}
  {{- with .root.Values.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- $annotations := .root.Values.podAnnotations }}
{{- if not .root.Values.secret.existing }}
{{- $annotations = merge (dict "checksum/settings" (include "agentpods.secretData" .root | sha256sum)) $annotations }}
{{- end }}
{{- if and .root.Values.metrics.annotations (ne .component "migrate") }}
{{- $scraped := dict "prometheus.io/scrape" "true" "prometheus.io/port" (include "agentpods.metricsPort" .) "prometheus.io/path" "/metrics" }}
{{- $annotations = merge $scraped $annotations }}
{{- end }}
{{- with $annotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* The common part of all pods. `account` is drive or observe; without an account the pod has no token. */}}
{{- define "agentpods.podSpec" -}}
{{- $values := .root.Values -}}
{{- if and .account $values.hosting.enabled }}
serviceAccountName: {{ .root.Release.Name }}-{{ .account }}
automountServiceAccountToken: true
{{- else }}
automountServiceAccountToken: false
{{- end }}
enableServiceLinks: false
securityContext:
  runAsNonRoot: true
  runAsUser: 10000
  runAsGroup: 10000
  fsGroup: 10000
  seccompProfile:
    type: RuntimeDefault
{{- /* Each release is spread by itself: otherwise the pods that an upgrade is about to end would push all new pods onto
another node. */}}
topologySpreadConstraints:
  {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
  - maxSkew: 1
    topologyKey: {{ $key }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        {{- include "agentpods.selector" $ | nindent 8 }}
    matchLabelKeys: [pod-template-hash]
  {{- end }}
{{- with $values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- /* A program's own values take the place of the values for all programs. */}}
{{- range $field := list "nodeSelector" "tolerations" "affinity" "priorityClassName" }}
{{- with get $.program $field | default (get $values $field) }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
volumes:
  - name: tmp
    emptyDir:
      sizeLimit: 256Mi
  {{- if include "agentpods.drills" . }}
  - name: drill
    emptyDir:
      sizeLimit: {{ printf "%dMi" (add (mul (int $values.backups.drillGigabytes) 1024) 512) }}
  {{- end }}
  {{- with $values.extraVolumes }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{- define "agentpods.metricsPort" -}}9600{{- end }}

{{/* The ports of a container: its own ones by name, and the port of its metrics. */}}
{{- define "agentpods.ports" -}}
{{- $ports := default dict .ports -}}
{{- if .root.Values.metrics.enabled }}
{{- $ports = merge (dict "metrics" (include "agentpods.metricsPort" .)) $ports }}
{{- end }}
{{- with $ports }}
ports:
  {{- range $name, $port := . }}
  - name: {{ $name }}
    containerPort: {{ $port }}
  {{- end }}
{{- end }}
{{- end }}

{{/* The common part of all containers: image, rights, settings, resources. `secret` names the Secret with the settings.
*/}}
{{- define "agentpods.container" -}}
image: {{ include "agentpods.image" .root }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities:
    drop: [ALL]
resources:
  {{- toYaml .program.resources | nindent 2 }}
volumeMounts:
  - name: tmp
    mountPath: /tmp
  {{- if include "agentpods.drills" . }}
  - name: drill
    mountPath: /drill
  {{- end }}
  {{- with .root.Values.extraVolumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
envFrom:
  - secretRef:
      name: {{ default (include "agentpods.secretName" .root) .secret }}
env:
  {{- include "agentpods.env" . | nindent 2 }}
{{- end }}

{{- define "agentpods.env" -}}
{{- $values := .root.Values -}}
- name: AGENTPODS_ENV
  value: production
- name: AGENT_RUNTIME
  value: kubernetes
- name: POD_IMAGE
  value: {{ include "agentpods.image" .root | quote }}
- name: ENGINE_IMAGES
  value: {{ include "agentpods.engineImages" .root | quote }}
- name: BASE_URL
  value: {{ printf "https://%s" $values.console.host | quote }}
- name: TRUSTED_PROXIES
  value: {{ join "," $values.console.trustedProxies | quote }}
- name: PLATFORM_DOMAIN
  value: {{ $values.platform.domain | quote }}
- name: EXPECTED_IP
  value: {{ $values.platform.expectedIp | quote }}
- name: OWN_NETWORKS
  value: {{ join "," $values.networkPolicy.ownNetworks | quote }}
- name: DATABASE_POOL_SIZE
  value: {{ .program.databasePoolSize | quote }}
{{- if $values.backups.store }}
- name: BACKUP_STORE
  value: {{ $values.backups.store | quote }}
- name: BACKUP_URL
  value: {{ include "agentpods.backupUrl" .root | quote }}
- name: BACKUP_HOST
  value: 0.0.0.0
- name: BACKUP_PORT
  value: {{ include "agentpods.backupPort" . | quote }}
- name: DRILL_DIRECTORY
  value: /drill
- name: DRILL_MAX_GB
  value: {{ $values.backups.drillGigabytes | quote }}
{{- end }}
{{- if and $values.metrics.enabled (ne (default "" .component) "migrate") }}
- name: METRICS_PORT
  value: {{ include "agentpods.metricsPort" . | quote }}
- name: METRICS_ADDRESS
  value: 0.0.0.0
{{- end }}
- name: HOME
  value: /tmp
- name: PULSE_FILE
  value: {{ include "agentpods.pulseFile" . }}
{{- range $name, $value := $values.env }}
- name: {{ $name }}
  value: {{ $value | quote }}
{{- end }}
{{- /* Other programs get empty values for these keys: an entry here overrides the entry of the Secret. */}}
{{- $withheld := list "BACKUP_ACCESS_KEY" "BACKUP_ACCESS_KEY_FILE" "BACKUP_SECRET_KEY" "BACKUP_SECRET_KEY_FILE" }}
{{- if include "agentpods.opensStore" . }}
{{- $withheld = list }}
{{- end }}
{{- range $name := $withheld }}
- name: {{ $name }}
  value: ""
{{- end }}
{{- range $given := $values.extraEnv }}
{{- if not (has $given.name $withheld) }}
{{ toYaml (list $given) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Probes of a program that gives a sign of life (config/pulse.py): the seconds to start, and the minutes without a
sign. The file of a container that ended is still there when the next container starts. On a busy node, starting a
program in a container takes more than a second, which is the default time limit of Kubernetes. */}}
{{- define "agentpods.pulse" -}}
startupProbe:
  exec:
    command: [sh, -c, "find {{ include "agentpods.pulseFile" . }} -mmin -1 | grep -q ."]
  periodSeconds: 5
  timeoutSeconds: 10
  failureThreshold: {{ div .starts 5 }}
livenessProbe:
  exec:
    command: [sh, -c, "find {{ include "agentpods.pulseFile" . }} -mmin -{{ .silent }} | grep -q ."]
  periodSeconds: 30
  timeoutSeconds: 10
  failureThreshold: 2
{{- end }}

{{/* The address at which pods reach the endpoint of backups. */}}
{{- define "agentpods.backupUrl" -}}
{{- default (printf "http://%s-backups.%s.svc:%s" .Release.Name .Release.Namespace (include "agentpods.backupPort" .)) .Values.backups.url -}}
{{- end }}

{{- define "agentpods.backupPort" -}}8300{{- end }}

{{/* Whether a program has the keys of the bucket: only the endpoint and the workers, because only workers delete from
the bucket. */}}
{{- define "agentpods.opensStore" -}}
{{- if or (eq "backups" (default "" .component)) (hasPrefix "worker" (default "" .component)) }}yes{{ end -}}
{{- end }}

{{/* Whether a program runs restore drills: it does if it takes tasks from `default`. */}}
{{- define "agentpods.drills" -}}
{{- if and .root.Values.backups.store (hasPrefix "worker" (default "" .component)) }}yes{{ end -}}
{{- end }}

{{- define "agentpods.pulseFile" -}}/tmp/pulse{{- end }}

{{/* Egress to PostgreSQL, Redis and DNS, which every program needs. */}}
{{- define "agentpods.storesEgress" -}}
{{- $policy := .Values.networkPolicy -}}
{{- include "agentpods.egress" (dict "to" $policy.dns.to "ports" $policy.dns.ports "protocols" (list "UDP" "TCP")) }}
{{ include "agentpods.egress" (dict "to" $policy.database.to "ports" $policy.database.ports) }}
{{ include "agentpods.egress" (dict "to" $policy.redis.to "ports" $policy.redis.ports) }}
{{- end }}

{{/* One rule: these ports of these peers; without peers, these ports anywhere. */}}
{{- define "agentpods.egress" -}}
{{- $protocols := default (list "TCP") .protocols -}}
- ports:
    {{- range $port := .ports }}
    {{- range $protocol := $protocols }}
    - protocol: {{ $protocol }}
      port: {{ $port }}
    {{- end }}
    {{- end }}
  {{- with .to }}
  to:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}

{{/* The pods of the release to which a policy applies. */}}
{{- define "agentpods.podsOf" -}}
matchLabels:
  {{- include "agentpods.selector" (dict "root" .root) | nindent 2 }}
matchExpressions:
  - key: app.kubernetes.io/component
    operator: In
    values: {{ toJson .components }}
{{- end }}

{{/* The settings of a container that exists only to pull its image. */}}
{{- define "agentpods.prePulled" -}}
imagePullPolicy: {{ .Values.image.pullPolicy }}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  runAsNonRoot: true
  capabilities:
    drop: [ALL]
resources:
  requests: {cpu: 1m, memory: 4Mi, ephemeral-storage: 1Mi}
  limits: {memory: 16Mi, ephemeral-storage: 8Mi}
{{- end }}
