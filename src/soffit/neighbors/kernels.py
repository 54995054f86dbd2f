"""Compiled loops of the neighbour search: lists, trees, joins and sparse rows."""

from __future__ import annotations

import numpy as np

from soffit._compile import njit

# Groups of products of a row, of which the largest is looked at first.
LANES = 64


@njit(cache=True, nogil=True)
def nearest_by_rank(
    ranks, reach, rows, reference, least, lowest, groups, candidates, indices, squares
):
    """The nearest rows of `reference`, sorted by distance, equal distances by index.

    A rank is half a squared distance, up to a constant per row and up to rounding. Ranks are
    divided into as many groups as `least` has room for, whose minima are compared first: only
    groups with one of the lowest minima, as many as `lowest` and `groups` have room for, can hold
    ranks below the highest of these. Rows with such ranks are compared by exact distance, and so
    are all others that may lie within the distance of the last neighbour found (`reach` is the
    rounding minus the row's constant). `candidates` has room for the numbers of all rows.
    """
    n, n_groups, margin = reference.shape[0], len(least), len(lowest)
    for i in range(ranks.shape[0]):
        rank = ranks[i]
        # Every n_groups-th rank belongs to the same group: loops become vector instructions.
        for g in range(n_groups):
            least[g] = rank[g]
        for first in range(n_groups, n, n_groups):
            part = rank[first : min(first + n_groups, n)]
            for g in range(len(part)):
                new, old = part[g], least[g]
                least[g] = new if new < old else old
        for t in range(margin):
            lowest[t] = np.inf
        for g in range(n_groups):
            if least[g] < lowest[margin - 1]:
                insert_sorted(lowest, groups, margin, least[g], g)
        highest, limit = lowest[margin - 1], np.inf
        # Overflowed ranks are NaN: the list is not full, and no row is excluded.
        if highest < np.inf:
            for t in range(1, margin):
                at, g = t, groups[t]
                while at > 0 and groups[at - 1] > g:
                    groups[at] = groups[at - 1]
                    at -= 1
                groups[at] = g
            count = 0
            for first in range(0, n, n_groups):
                for t in range(margin):
                    j = first + groups[t]
                    if j < n and rank[j] <= highest:
                        candidates[count] = j
                        count += 1
            _keep_nearest(squares[i], indices[i], candidates, count, rows[i], reference)
            limit = 0.5 * squares[i, -1] + reach[i]
        if not highest > limit:
            count = 0
            for j in range(n):
                if not rank[j] > limit:
                    candidates[count] = j
                    count += 1
            _keep_nearest(squares[i], indices[i], candidates, count, rows[i], reference)


@njit(cache=True, nogil=True)
def _keep_nearest(best, who, candidates, count, x, reference):
    """Fill `best` and `who` with the nearest of the candidates and their squared distances."""
    length = len(best)
    for t in range(length):
        best[t] = np.inf
    for c in range(count):
        j = candidates[c]
        square = 0.0
        for q in range(len(x)):
            difference = x[q] - reference[j, q]
            square += difference * difference
        if square < best[length - 1]:
            insert_sorted(best, who, length, square, j)


@njit(cache=True, nogil=True)
def take_ranks(products, half, i_first, j_first, lowest, listed):
    """Update the lists of lowest ranks of two ranges of rows by the products of their pairs.

    The rank of j for i is `half[j]` minus the product. A range with itself has all pairs twice.
    """
    n_i, n_j = products.shape
    last = lowest.shape[1] - 1
    half_j, limits = half[j_first : j_first + n_j], np.full(n_j, -np.inf, dtype=half.dtype)
    if i_first != j_first:
        limits[:] = lowest[j_first : j_first + n_j, last]
    excess = np.empty(LANES, dtype=half.dtype)
    for i in range(n_i):
        row, own, limit = products[i], half[i_first + i], lowest[i_first + i, last]
        # Whether a product is large enough for one of both lists: loops become vector instructions.
        excess[:] = 0.0
        for first in range(0, n_j, LANES):
            part = row[first : min(first + LANES, n_j)]
            for g in range(len(part)):
                least = half_j[first + g] - limit
                other = own - limits[first + g]
                new = part[g] - (other if other < least else least)
                excess[g] = new if new > excess[g] else excess[g]
        for g in range(LANES):
            if excess[g] > 0.0:
                for j in range(g, n_j, LANES):
                    rank = half_j[j] - row[j]
                    if rank < lowest[i_first + i, last]:
                        ranks, numbers = lowest[i_first + i], listed[i_first + i]
                        insert_sorted(ranks, numbers, last + 1, rank, j_first + j)
                    rank = own - row[j]
                    if rank < limits[j]:
                        ranks, numbers = lowest[j_first + j], listed[j_first + j]
                        insert_sorted(ranks, numbers, last + 1, rank, i_first + i)
                        limits[j] = ranks[last]


@njit(cache=True, nogil=True)
def nearest_listed(listed, rows, reference, indices, squares):
    """The nearest of the listed rows of `reference`, equal distances by index."""
    for i in range(len(rows)):
        candidates = np.sort(listed[i])
        _keep_nearest(squares[i], indices[i], candidates, len(candidates), rows[i], reference)


@njit(cache=True, nogil=True)
def nearest_by_columns(
    indptr, indices, data, columns_indptr, columns_indices, columns_data, start, numbers, ranks
):
    """The lowest ranks of every CSR row among those of a CSC matrix: `start` minus the product."""
    n, length = len(start), ranks.shape[1]
    rank = np.empty(n)
    for i in range(len(ranks)):
        rank[:] = start
        for p in range(indptr[i], indptr[i + 1]):
            value, column = data[p], indices[p]
            for q in range(columns_indptr[column], columns_indptr[column + 1]):
                rank[columns_indices[q]] -= value * columns_data[q]
        limit = ranks[i, length - 1]
        for j in range(n):
            if rank[j] < limit:
                insert_sorted(ranks[i], numbers[i], length, rank[j], j)
                limit = ranks[i, length - 1]


@njit(cache=True, nogil=True, inline="always")
def insert_sorted(best, who, length, value, j):
    """Insert j into the sorted list of the smallest values, after its equals; drops the last."""
    place = length - 1
    while place > 0 and best[place - 1] > value:
        best[place] = best[place - 1]
        who[place] = who[place - 1]
        place -= 1
    best[place] = value
    who[place] = j


@njit(cache=True, nogil=True)
def shared_neighbors(lists_a, lists_b, first, second, count):
    """Length of the intersection of two sorted neighbour lists, for every pair of rows."""
    length_a, length_b = lists_a.shape[1], lists_b.shape[1]
    for e in range(len(first)):
        a, b = 0, 0
        i, j = first[e], second[e]
        shared = 0
        while a < length_a and b < length_b:
            x, y = lists_a[i, a], lists_b[j, b]
            if x == y:
                shared += 1
            if x <= y:
                a += 1
            if y <= x:
                b += 1
        count[e] = shared


@njit(cache=True, nogil=True)
def edges_of_lists(lists, members, first, last, mutual, kept):
    """Each edge of the objects first to last once: marks positions in their lists.

    An edge listed by both ends belongs to the smaller number; others are left out if `mutual`.
    `members` holds the lists in ascending order.
    """
    length = lists.shape[1]
    for i in range(first, last):
        for t in range(length):
            j = lists[i, t]
            if j < 0 or (mutual and j < i):
                continue
            # Whether the sorted list of j contains i.
            low, high = 0, length
            while low < high:
                middle = (low + high) >> 1
                if members[j, middle] < i:
                    low = middle + 1
                else:
                    high = middle
            both = low < length and members[j, low] == i
            kept[i, t] = i < j if both else not mutual


_MULTIPLIER = np.uint64(6364136223846793005)
_INCREMENT = np.uint64(1442695040888963407)


@njit(cache=True, nogil=True, fastmath=True)
def grow(X, order, heights, normals, offsets, ranges, states, normal):
    """Halve the points of a range recursively along random lines.

    `ranges` is a stack with room for two rows more than levels: the first and the last point, the
    number of the node and the levels left, with the first row given; `states` are those of the
    generator. Nodes are numbered like a heap; if `normals` has room, the planes are kept. `normal`
    has room for a line.
    """
    d = X.shape[1]
    top = 0
    while top >= 0:
        low, high, node, left = ranges[top, 0], ranges[top, 1], ranges[top, 2], ranges[top, 3]
        state = states[top]
        top -= 1
        if left == 0 or high - low < 2:
            continue
        state = state * _MULTIPLIER + _INCREMENT
        a = order[low + np.int64((state >> np.uint64(33)) % np.uint64(high - low))]
        state = state * _MULTIPLIER + _INCREMENT
        b = order[low + np.int64((state >> np.uint64(33)) % np.uint64(high - low))]
        for q in range(d):
            normal[q] = X[a, q] - X[b, q]
        for p in range(low, high):
            height = np.float32(0.0)
            i = order[p]
            for q in range(d):
                height += X[i, q] * normal[q]
            heights[p] = height
        middle = (low + high) >> 1
        _select(heights, order, low, high, middle)
        if node < len(offsets):
            for q in range(d):
                normals[node, q] = normal[q]
            offsets[node] = heights[middle]
        for side in range(2):
            top += 1
            child = 2 * node + 1 + side
            ranges[top, 0] = middle if side else low
            ranges[top, 1] = high if side else middle
            ranges[top, 2] = child
            ranges[top, 3] = left - 1
            states[top] = state + np.uint64(child)


@njit(cache=True, nogil=True, inline="always")
def _select(values, items, low, high, middle):
    """Partial sort: position `middle` gets its value of the sorted order."""
    while high - low > 1:
        # The median of three values.
        a, pivot, c = values[low], values[(low + high) >> 1], values[high - 1]
        if a > pivot:
            a, pivot = pivot, a
        if pivot > c:
            pivot = a if a > c else c
        i, j = low, high - 1
        while i <= j:
            while values[i] < pivot:
                i += 1
            while values[j] > pivot:
                j -= 1
            if i <= j:
                values[i], values[j] = values[j], values[i]
                items[i], items[j] = items[j], items[i]
                i += 1
                j -= 1
        if middle <= j:
            high = j + 1
        elif middle >= i:
            low = i
        else:
            return


@njit(cache=True, nogil=True, fastmath=True)
def leaves_of(Y, normals, offsets, leaves):
    """The leaf of the tree that each row of Y reaches."""
    for c in range(len(Y)):
        node = 0
        while node < len(normals):
            height = np.float32(0.0)
            for q in range(Y.shape[1]):
                height += Y[c, q] * normals[node, q]
            node = 2 * node + (1 if height < offsets[node] else 2)
        leaves[c] = node - len(normals)


# Candidates compared at once: their copies stay in the cache for all rows of a leaf.
BLOCK = 512
# Squares are scanned in groups of this size: most groups hold nothing near.
JOIN_GROUP = 16


@njit(cache=True, nogil=True, fastmath=True)
def squares_to(x, y, columns, count, squares):
    """Squared distances of x and y, one per row, to the first `count` columns.

    Four coordinates per pass: loops over candidates become vector instructions. Both points use the
    columns that are loaded. The number of rows is a multiple of 4.
    """
    of_x, of_y = squares[0], squares[1]
    for b in range(count):
        of_x[b] = np.float32(0.0)
        of_y[b] = np.float32(0.0)
    for q in range(0, columns.shape[0], 4):
        x0, x1, x2, x3 = x[q], x[q + 1], x[q + 2], x[q + 3]
        y0, y1, y2, y3 = y[q], y[q + 1], y[q + 2], y[q + 3]
        for b in range(count):
            c0, c1, c2, c3 = columns[q, b], columns[q + 1, b], columns[q + 2, b], columns[q + 3, b]
            s0, s1, s2, s3 = x0 - c0, x1 - c1, x2 - c2, x3 - c3
            of_x[b] += s0 * s0 + s1 * s1 + s2 * s2 + s3 * s3
            t0, t1, t2, t3 = y0 - c0, y1 - c1, y2 - c2, y3 - c3
            of_y[b] += t0 * t0 + t1 * t1 + t2 * t2 + t3 * t3


@njit(cache=True, nogil=True, inline="always")
def _copy_columns(X, numbers, first, count, columns):
    for b in range(count):
        j = numbers[first + b]
        for q in range(X.shape[1]):
            columns[q, b] = X[j, q]


@njit(cache=True, nogil=True, fastmath=True)
def _take_nearer(new, numbers, first, count, members, squares, groups):
    """Insert the candidates that are near enough into a list.

    `new` has room for one group more than candidates; `groups` for the numbers of all groups.
    """
    length = len(squares)
    worst = squares[length - 1]
    for b in range(count, count + JOIN_GROUP):
        new[b] = np.inf
    n_near = 0
    for start in range(0, count, JOIN_GROUP):
        least = new[start]
        for b in range(1, JOIN_GROUP):
            if new[start + b] < least:
                least = new[start + b]
        # No branch: whether a group is near is hard to predict.
        groups[n_near] = start
        n_near += least < worst
    for g in range(n_near):
        for b in range(groups[g], groups[g] + JOIN_GROUP):
            if new[b] < worst:
                insert_sorted(squares, members, length, new[b], numbers[first + b])
                worst = squares[length - 1]


@njit(cache=True, nogil=True, inline="always")
def candidates_of(order, low, size, members, place, found, listed):
    """The points of a leaf, then all that they list; returns their number.

    `place` is the position of a number in `found`, if it is there; `listed` that of each point's
    list.
    """
    for a in range(size):
        found[a] = order[low + a]
        place[found[a]] = a
    n_found = size
    for a in range(size):
        for t in range(members.shape[1]):
            j = members[found[a], t]
            if j < 0:
                listed[a, t] = -1
                continue
            at = place[j]
            if at >= n_found or found[at] != j:
                at = n_found
                place[j] = at
                found[at] = j
                n_found += 1
            listed[a, t] = at
    return n_found


@njit(cache=True, nogil=True)
def join_leaves(
    X, order, bounds, first, last, members, squares, place,
    rows, found, listed, columns, new, groups,
):  # fmt: skip
    """Compare the points of every leaf from `first` to `last` with all that any of them lists.

    Reads and writes the lists of these points only. `place` has a number for every point and is for
    exclusive use; so are the arrays after it, the `room` of `soffit.neighbors.approximate`.
    """
    length = members.shape[1]
    for leaf in range(first, last):
        low, size = bounds[leaf], bounds[leaf + 1] - bounds[leaf]
        n_found = candidates_of(order, low, size, members, place, found, listed)
        for a in range(size):
            for q in range(X.shape[1]):
                rows[a, q] = X[found[a], q]
        for start in range(0, n_found, BLOCK):
            count = n_found - start
            if count > BLOCK:
                count = BLOCK
            _copy_columns(X, found, start, count, columns)
            for a in range(size):
                i, one = found[a], new[a % 2]
                if a % 2 == 0:
                    squares_to(rows[a], rows[min(a + 1, size - 1)], columns, count, new)
                # Neither the point itself nor the points already in its list.
                if start <= a < start + count:
                    one[a - start] = np.inf
                for t in range(length):
                    at = listed[a, t] - start
                    if 0 <= at < count:
                        one[at] = np.inf
                _take_nearer(one, found, start, count, members[i], squares[i], groups)


@njit(cache=True, nogil=True)
def take_nearest(new, size, found, listed, start, count, members, squares, groups):
    """Insert some of a leaf's candidates into the lists of its points, by given squared distances.

    Row a of `new` is for point a of the leaf, column b for candidate `start` + b; there is room for
    one group of columns more.
    """
    for a in range(size):
        i = found[a]
        if start <= a < start + count:
            new[a, a - start] = np.inf
        for t in range(members.shape[1]):
            at = listed[a, t] - start
            if 0 <= at < count:
                new[a, at] = np.inf
        _take_nearer(new[a], found, start, count, members[i], squares[i], groups)


@njit(cache=True, nogil=True, fastmath=True)
def measure_lists(X, first, last, members, squares):
    """Squared distances of the lists of the points first to last, and the lists sorted by them."""
    for i in range(first, last):
        for t in range(members.shape[1]):
            j = members[i, t]
            if j < 0:
                break
            square = np.float32(0.0)
            for q in range(X.shape[1]):
                step = X[i, q] - X[j, q]
                square += step * step
            at = t
            while at > 0 and squares[i, at - 1] > square:
                squares[i, at] = squares[i, at - 1]
                members[i, at] = members[i, at - 1]
                at -= 1
            squares[i, at] = square
            members[i, at] = j


@njit(cache=True, nogil=True)
def copy_lists(order, members, squares, size, first, last, indices, distances):
    """The lists of the sorted points first to last, in terms of objects."""
    for p in range(first, last):
        i = order[p]
        for t in range(indices.shape[1]):
            j = members[p, t]
            indices[i, t] = order[j] if j >= 0 else -1
            distances[i, t] = np.sqrt(squares[p, t]) * size


@njit(cache=True, nogil=True)
def find_nearest(
    Y, leaves, X, bounds, lists, place, near, squares, order, asked,
    found, listed, columns, new, groups,
):  # fmt: skip
    """Nearest points of X for the rows of Y, which are sorted by leaf: fills `near` and `squares`.

    A row is compared with the points of its leaf and with all that these list; then with the lists
    of the points it keeps, nearest first, until all of them or as many as `asked` has room for have
    been read. `order` are the numbers of all points; `place` and the arrays after `asked` are those
    of `join_leaves`. Y has zeros behind its columns, up to a multiple of 4.
    """
    first = 0
    while first < len(Y):
        leaf, last = leaves[first], first + 1
        while last < len(Y) and leaves[last] == leaf:
            last += 1
        low, size = bounds[leaf], bounds[leaf + 1] - bounds[leaf]
        n_found = candidates_of(order, low, size, lists, place, found, listed)
        for start in range(0, n_found, BLOCK):
            count = n_found - start
            if count > BLOCK:
                count = BLOCK
            _copy_columns(X, found, start, count, columns)
            for c in range(first, last):
                at = (c - first) % 2
                if at == 0:
                    squares_to(Y[c], Y[min(c + 1, last - 1)], columns, count, new)
                _take_nearer(new[at], found, start, count, near[c], squares[c], groups)
        for c in range(first, last):
            _ask(Y[c], X, lists, near[c], squares[c], asked, place, found, n_found)
        first = last


@njit(cache=True, nogil=True, fastmath=True)
def _ask(y, X, lists, near, squares, asked, place, found, n_found):
    """Compare a row with the lists of its nearest points, as long as there is room.

    Points it has been compared with before are left out: the first `n_found` numbers of `found`,
    whose positions are in `place`, and those that are added behind them here.
    """
    n_done, at, last = 0, 0, len(near) - 1
    while at <= last and near[at] >= 0 and n_done < len(asked):
        between = near[at]
        at += 1
        if _contains(asked, n_done, between):
            continue
        asked[n_done] = between
        n_done += 1
        for t in range(lists.shape[1]):
            j = lists[between, t]
            if j < 0:
                break
            if place[j] < n_found and found[place[j]] == j:
                continue
            place[j] = n_found
            found[n_found] = j
            n_found += 1
            square = np.float32(0.0)
            for q in range(X.shape[1]):
                step = y[q] - X[j, q]
                square += step * step
            if square < squares[last]:
                insert_sorted(squares, near, len(near), square, j)
                # Points inserted before the current one still have to be visited.
                at = 0


@njit(cache=True, nogil=True, inline="always")
def _contains(numbers, count, j):
    """Whether j is among the first `count` numbers; vectorised, without early exit."""
    is_there = False
    for t in range(count):
        is_there |= numbers[t] == j
    return is_there


@njit(cache=True, nogil=True)
def _enter(members, squares, fresh, i, j, square):
    """Insert j into the sorted list of i unless it is there or too far; drops the last."""
    if square >= squares[i, -1]:
        return 0
    for t in range(members.shape[1]):
        if members[i, t] == j:
            return 0
    _insert(members, squares, fresh, i, j, square)
    return 1


@njit(cache=True, nogil=True)
def _insert(members, squares, fresh, i, j, square):
    """Insert j into the sorted list of i, after its equals, and mark it; returns its position."""
    place = members.shape[1] - 1
    while place > 0 and squares[i, place - 1] > square:
        squares[i, place] = squares[i, place - 1]
        members[i, place] = members[i, place - 1]
        fresh[i, place] = fresh[i, place - 1]
        place -= 1
    squares[i, place] = square
    members[i, place] = j
    fresh[i, place] = True
    return place


@njit(cache=True, nogil=True)
def listed_by(members, fresh, first, last, others, others_fresh, count):
    """Which points list each of the rows `first` to `last`: as many as fit, nearest first."""
    n, length = members.shape
    room = others.shape[1]
    for t in range(length):
        for i in range(n):
            j = members[i, t]
            if first <= j < last and count[j] < room:
                others[j, count[j]] = i
                others_fresh[j, count[j]] = fresh[i, t]
                count[j] += 1


@njit(cache=True, nogil=True)
def _sparse_candidates(i, members, fresh, others, others_fresh, count, stamp, found):
    """All neighbours of neighbours of i that may be new to it; returns their number."""
    length = members.shape[1]
    n_found = 0
    stamp[i] = i + 1
    for t in range(length):
        if members[i, t] >= 0:
            stamp[members[i, t]] = i + 1
    for t in range(length + count[i]):
        if t < length:
            between, is_fresh = members[i, t], fresh[i, t]
        else:
            between, is_fresh = others[i, t - length], others_fresh[i, t - length]
            if stamp[between] != i + 1:
                stamp[between] = i + 1
                found[n_found] = between
                n_found += 1
        if between < 0:
            continue
        for w in range(length):
            j = members[between, w]
            if j >= 0 and (is_fresh or fresh[between, w]) and stamp[j] != i + 1:
                stamp[j] = i + 1
                found[n_found] = j
                n_found += 1
    return n_found


@njit(cache=True, nogil=True, fastmath=True)
def improve(indptr, indices, data, norms, first, last, graph, lists, stamp, wide):
    """Neighbours of neighbours, in both directions, for the rows `first` to `last`.

    `graph` holds the lists before this round (members, squares, fresh, reverse lists, fresh,
    count), `lists` those after it; `wide` is a zero vector as long as a row. Returns the number of
    new entries.
    """
    members, squares, fresh, others, others_fresh, count = graph
    new, new_squares, new_fresh = lists
    length = members.shape[1]
    found = np.empty((length + others.shape[1]) * (length + 1), dtype=np.int32)
    changes = 0
    for i in range(first, last):
        for t in range(length):
            new[i, t], new_squares[i, t], new_fresh[i, t] = members[i, t], squares[i, t], False
        n_found = _sparse_candidates(i, members, fresh, others, others_fresh, count, stamp, found)
        for p in range(indptr[i], indptr[i + 1]):
            wide[indices[p]] = data[p]
        for t in range(n_found):
            square = _square_to(found[t], indptr, indices, data, norms, wide, norms[i])
            changes += _enter(new, new_squares, new_fresh, i, found[t], square)
        for p in range(indptr[i], indptr[i + 1]):
            wide[indices[p]] = 0.0
    return changes


@njit(cache=True, nogil=True, fastmath=True)
def _square_to(j, indptr, indices, data, norms, wide, norm):
    product = np.float32(0.0)
    for p in range(indptr[j], indptr[j + 1]):
        product += data[p] * wide[indices[p]]
    return max(norm + norms[j] - np.float32(2.0) * product, np.float32(0.0))


@njit(cache=True, nogil=True, fastmath=True)
def measure(indptr, indices, data, norms, first, last, members, squares, fresh, wide):
    """Replace the squares of given lists by those of the CSR rows, and sort the lists again."""
    length = members.shape[1]
    old = np.empty(length, dtype=np.int32)
    for i in range(first, last):
        old[:] = members[i]
        members[i] = -1
        squares[i] = np.inf
        for p in range(indptr[i], indptr[i + 1]):
            wide[indices[p]] = data[p]
        for t in range(length):
            if old[t] >= 0:
                square = _square_to(old[t], indptr, indices, data, norms, wide, norms[i])
                _enter(members, squares, fresh, i, old[t], square)
        for p in range(indptr[i], indptr[i + 1]):
            wide[indices[p]] = 0.0


@njit(cache=True, nogil=True, fastmath=True)
def compare_sparse_with_all(
    indptr, indices, data, norms, chosen, first, last, members, squares, wide
):
    """Exact neighbours of a few rows, numbers first to last of `chosen`."""
    n = len(norms)
    fresh = np.zeros(members.shape, dtype=np.bool_)
    for c in range(first, last):
        i = chosen[c]
        for p in range(indptr[i], indptr[i + 1]):
            wide[indices[p]] = data[p]
        for j in range(n):
            square = _square_to(j, indptr, indices, data, norms, wide, norms[i])
            if j != i and square < squares[c, -1]:
                _enter(members, squares, fresh, c, j, square)
        for p in range(indptr[i], indptr[i + 1]):
            wide[indices[p]] = 0.0
