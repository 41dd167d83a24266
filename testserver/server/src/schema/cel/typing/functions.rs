//! The table of operators and functions that expressions may use, with their types.

/// The operators and functions that rules may use: those of the language, its extensions for strings, lists and optionals, and those of
/// Kubernetes 1.37. `:` starts a function that is not called on its first argument; `A` and `B` are parameters.
pub(super) const TABLE: &str = r"
    :_==_(A, A) bool
    :_!=_(A, A) bool
    :_<_(bool, bool) bool
    :_<_(int, int) bool
    :_<_(uint, uint) bool
    :_<_(double, double) bool
    :_<_(string, string) bool
    :_<_(bytes, bytes) bool
    :_<_(timestamp, timestamp) bool
    :_<_(duration, duration) bool
    :_<_(int, uint) bool
    :_<_(int, double) bool
    :_<_(uint, int) bool
    :_<_(uint, double) bool
    :_<_(double, int) bool
    :_<_(double, uint) bool
    :_<=_(bool, bool) bool
    :_<=_(int, int) bool
    :_<=_(uint, uint) bool
    :_<=_(double, double) bool
    :_<=_(string, string) bool
    :_<=_(bytes, bytes) bool
    :_<=_(timestamp, timestamp) bool
    :_<=_(duration, duration) bool
    :_<=_(int, uint) bool
    :_<=_(int, double) bool
    :_<=_(uint, int) bool
    :_<=_(uint, double) bool
    :_<=_(double, int) bool
    :_<=_(double, uint) bool
    :_>_(bool, bool) bool
    :_>_(int, int) bool
    :_>_(uint, uint) bool
    :_>_(double, double) bool
    :_>_(string, string) bool
    :_>_(bytes, bytes) bool
    :_>_(timestamp, timestamp) bool
    :_>_(duration, duration) bool
    :_>_(int, uint) bool
    :_>_(int, double) bool
    :_>_(uint, int) bool
    :_>_(uint, double) bool
    :_>_(double, int) bool
    :_>_(double, uint) bool
    :_>=_(bool, bool) bool
    :_>=_(int, int) bool
    :_>=_(uint, uint) bool
    :_>=_(double, double) bool
    :_>=_(string, string) bool
    :_>=_(bytes, bytes) bool
    :_>=_(timestamp, timestamp) bool
    :_>=_(duration, duration) bool
    :_>=_(int, uint) bool
    :_>=_(int, double) bool
    :_>=_(uint, int) bool
    :_>=_(uint, double) bool
    :_>=_(double, int) bool
    :_>=_(double, uint) bool
    :_+_(int, int) int
    :_+_(uint, uint) uint
    :_+_(double, double) double
    :_+_(string, string) string
    :_+_(bytes, bytes) bytes
    :_+_(duration, duration) duration
    :_+_(list(A), list(A)) list(A)
    :_+_(timestamp, duration) timestamp
    :_+_(duration, timestamp) timestamp
    :_-_(int, int) int
    :_-_(uint, uint) uint
    :_-_(double, double) double
    :_-_(duration, duration) duration
    :_-_(timestamp, timestamp) duration
    :_-_(timestamp, duration) timestamp
    :_*_(int, int) int
    :_*_(uint, uint) uint
    :_*_(double, double) double
    :_/_(int, int) int
    :_/_(uint, uint) uint
    :_/_(double, double) double
    :_%_(int, int) int
    :_%_(uint, uint) uint
    :-_(int) int
    :-_(double) double
    :!_(bool) bool
    :@not_strictly_false(bool) bool
    :_?_:_(bool, A, A) A
    :_[_](list(A), int) A
    :_[_](map(A, B), A) B
    :_[_](optional(list(A)), int) optional(A)
    :_[_](optional(map(A, B)), A) optional(B)
    :_[?_](list(A), int) optional(A)
    :_[?_](optional(list(A)), int) optional(A)
    :_[?_](map(A, B), A) optional(B)
    :_[?_](optional(map(A, B)), A) optional(B)
    :@in(A, list(A)) bool
    :@in(A, map(A, B)) bool
    :size(string) int
    string.size() int
    :size(bytes) int
    bytes.size() int
    :size(list(A)) int
    list(A).size() int
    :size(map(A, B)) int
    map(A, B).size() int
    string.startsWith(string) bool
    string.endsWith(string) bool
    string.contains(string) bool
    :matches(string, string) bool
    string.matches(string) bool
    :int(int) int
    :int(uint) int
    :int(double) int
    :int(string) int
    :int(timestamp) int
    :int(duration) int
    :uint(uint) uint
    :uint(int) uint
    :uint(double) uint
    :uint(string) uint
    :double(double) double
    :double(int) double
    :double(uint) double
    :double(string) double
    :string(string) string
    :string(bool) string
    :string(int) string
    :string(uint) string
    :string(double) string
    :string(bytes) string
    :string(timestamp) string
    :string(duration) string
    :bytes(bytes) bytes
    :bytes(string) bytes
    :bool(bool) bool
    :bool(string) bool
    :timestamp(timestamp) timestamp
    :timestamp(string) timestamp
    :timestamp(int) timestamp
    :duration(duration) duration
    :duration(string) duration
    :duration(int) duration
    :dyn(A) dyn
    :type(A) type(A)
    timestamp.getFullYear() int
    timestamp.getFullYear(string) int
    timestamp.getMonth() int
    timestamp.getMonth(string) int
    timestamp.getDayOfYear() int
    timestamp.getDayOfYear(string) int
    timestamp.getDayOfMonth() int
    timestamp.getDayOfMonth(string) int
    timestamp.getDate() int
    timestamp.getDate(string) int
    timestamp.getDayOfWeek() int
    timestamp.getDayOfWeek(string) int
    timestamp.getHours() int
    timestamp.getHours(string) int
    timestamp.getMinutes() int
    timestamp.getMinutes(string) int
    timestamp.getSeconds() int
    timestamp.getSeconds(string) int
    timestamp.getMilliseconds() int
    timestamp.getMilliseconds(string) int
    duration.getHours() int
    duration.getMinutes() int
    duration.getSeconds() int
    duration.getMilliseconds() int
    string.charAt(int) string
    string.indexOf(string) int
    string.indexOf(string, int) int
    string.lastIndexOf(string) int
    string.lastIndexOf(string, int) int
    string.lowerAscii() string
    string.upperAscii() string
    string.replace(string, string) string
    string.replace(string, string, int) string
    string.split(string) list(string)
    string.split(string, int) list(string)
    string.substring(int) string
    string.substring(int, int) string
    string.trim() string
    list(string).join() string
    list(string).join(string) string
    string.format(list(dyn)) string
    :strings.quote(string) string
    list(int).isSorted() bool
    list(int).min() int
    list(int).max() int
    list(uint).isSorted() bool
    list(uint).min() uint
    list(uint).max() uint
    list(double).isSorted() bool
    list(double).min() double
    list(double).max() double
    list(bool).isSorted() bool
    list(bool).min() bool
    list(bool).max() bool
    list(duration).isSorted() bool
    list(duration).min() duration
    list(duration).max() duration
    list(timestamp).isSorted() bool
    list(timestamp).min() timestamp
    list(timestamp).max() timestamp
    list(string).isSorted() bool
    list(string).min() string
    list(string).max() string
    list(bytes).isSorted() bool
    list(bytes).min() bytes
    list(bytes).max() bytes
    list(int).sum() int
    list(uint).sum() uint
    list(double).sum() double
    list(duration).sum() duration
    list(A).indexOf(A) int
    list(A).lastIndexOf(A) int
    list(A).slice(int, int) list(A)
    list(list(A)).flatten() list(A)
    list(dyn).flatten(int) list(dyn)
    list(A).distinct() list(A)
    list(A).reverse() list(A)
    :lists.range(int) list(int)
    list(A).first() optional(A)
    list(A).last() optional(A)
    list(int).sort() list(int)
    list(uint).sort() list(uint)
    list(double).sort() list(double)
    list(bool).sort() list(bool)
    list(duration).sort() list(duration)
    list(timestamp).sort() list(timestamp)
    list(string).sort() list(string)
    list(bytes).sort() list(bytes)
    list(A).@sortByAssociatedKeys(list(int)) list(A)
    list(A).@sortByAssociatedKeys(list(uint)) list(A)
    list(A).@sortByAssociatedKeys(list(double)) list(A)
    list(A).@sortByAssociatedKeys(list(bool)) list(A)
    list(A).@sortByAssociatedKeys(list(duration)) list(A)
    list(A).@sortByAssociatedKeys(list(timestamp)) list(A)
    list(A).@sortByAssociatedKeys(list(string)) list(A)
    list(A).@sortByAssociatedKeys(list(bytes)) list(A)
    :cel.@mapInsert(map(A, B), A, B) map(A, B)
    :cel.@mapInsert(map(A, B), map(A, B)) map(A, B)
    string.find(string) string
    string.findAll(string) list(string)
    string.findAll(string, int) list(string)
    :url(string) URL
    :isURL(string) bool
    URL.getScheme() string
    URL.getHost() string
    URL.getHostname() string
    URL.getPort() string
    URL.getEscapedPath() string
    URL.getQuery() map(string, list(string))
    :quantity(string) Quantity
    :isQuantity(string) bool
    Quantity.isInteger() bool
    Quantity.asInteger() int
    Quantity.asApproximateFloat() double
    :sign(Quantity) int
    Quantity.isGreaterThan(Quantity) bool
    Quantity.isLessThan(Quantity) bool
    Quantity.compareTo(Quantity) int
    Quantity.add(Quantity) Quantity
    Quantity.add(int) Quantity
    Quantity.sub(Quantity) Quantity
    Quantity.sub(int) Quantity
    :ip(string) IP
    :isIP(string) bool
    :ip.isCanonical(string) bool
    IP.family() int
    :string(IP) string
    IP.isUnspecified() bool
    IP.isLoopback() bool
    IP.isLinkLocalMulticast() bool
    IP.isLinkLocalUnicast() bool
    IP.isGlobalUnicast() bool
    :cidr(string) CIDR
    :isCIDR(string) bool
    CIDR.containsIP(string) bool
    CIDR.containsIP(IP) bool
    CIDR.containsCIDR(string) bool
    CIDR.containsCIDR(CIDR) bool
    CIDR.ip() IP
    CIDR.masked() CIDR
    CIDR.prefixLength() int
    :string(CIDR) string
    :format.named(string) optional(Format)
    Format.validate(string) optional(list(string))
    :format.dns1123Label() Format
    :format.dns1123Subdomain() Format
    :format.dns1035Label() Format
    :format.qualifiedName() Format
    :format.dns1123LabelPrefix() Format
    :format.dns1123SubdomainPrefix() Format
    :format.dns1035LabelPrefix() Format
    :format.labelValue() Format
    :format.uri() Format
    :format.uuid() Format
    :format.byte() Format
    :format.date() Format
    :format.datetime() Format
    :semver(string) Semver
    :semver(string, bool) Semver
    :isSemver(string) bool
    :isSemver(string, bool) bool
    Semver.major() int
    Semver.minor() int
    Semver.patch() int
    Semver.isGreaterThan(Semver) bool
    Semver.isLessThan(Semver) bool
    Semver.compareTo(Semver) int
    :sets.contains(list(A), list(A)) bool
    :sets.equivalent(list(A), list(A)) bool
    :sets.intersects(list(A), list(A)) bool
    :optional.of(A) optional(A)
    :optional.ofNonZeroValue(A) optional(A)
    :optional.none() optional(A)
    optional(A).hasValue() bool
    optional(A).value() A
    optional(A).or(optional(A)) optional(A)
    optional(A).orValue(A) A
    :jsonpatch.escapeKey(string) string
    Authorizer.path(string) PathCheck
    Authorizer.group(string) GroupCheck
    Authorizer.serviceAccount(string, string) Authorizer
    GroupCheck.resource(string) ResourceCheck
    ResourceCheck.subresource(string) ResourceCheck
    ResourceCheck.namespace(string) ResourceCheck
    ResourceCheck.name(string) ResourceCheck
    PathCheck.check(string) Decision
    ResourceCheck.check(string) Decision
    Decision.allowed() bool
    Decision.errored() bool
    Decision.error() string
    Decision.reason() string
";
